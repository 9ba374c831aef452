package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// dataFolder makes the folder that keeps the runs, where it is missing. Nobody else may read it.
func (p *program) dataFolder(given string) (string, error) {
	folder, err := given, error(nil)
	if folder == "" {
		if folder, err = p.stateFolder(); err != nil {
			return "", err
		}
	}
	if folder, err = filepath.Abs(folder); err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil && given == "" {
		err = p.claim(folder)
	}
	if err == nil {
		err = writable(folder)
	}
	if err != nil {
		return "", &exit{code: broken, err: fmt.Errorf("the data folder %s cannot be written (%w): give this user access, or choose another one with --data",
			folder, root(err))}
	}
	return folder, nil
}

// stateFolder is where the XDG base directory specification has a program keep such things. Another
// program of the same name has another folder: the one that comes second adds a hash of its
// identity.
func (p *program) stateFolder() (string, error) {
	folder, err := p.namedFolder()
	if err != nil {
		return "", err
	}
	own := folder + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(p.identity())))[:8]
	if _, err := os.Stat(own); err == nil {
		return own, nil
	}
	owner, err := os.ReadFile(filepath.Join(folder, ownerFile))
	if err == nil && strings.TrimSpace(string(owner)) != p.identity() {
		return own, nil
	}
	return folder, nil // a folder of an earlier version names no program
}

// ownerFile names the program that a default data folder belongs to.
const ownerFile = "program"

// claim notes in a default data folder which program it belongs to.
func (p *program) claim(folder string) error {
	file := filepath.Join(folder, ownerFile)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(file, []byte(p.identity()+"\n"), 0o600)
}

// identity tells programs of one name apart: the path of the main package and, where that is not a
// path of a public module, the folder of its source.
func (p *program) identity() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p.source
	}
	if host, _, _ := strings.Cut(info.Path, "/"); strings.Contains(host, ".") {
		return info.Path
	}
	return strings.TrimSpace(info.Path + " " + p.source)
}

func (p *program) namedFolder() (string, error) {
	name := strings.TrimSuffix(p.name, ".exe")
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &exit{code: usage, err: fmt.Errorf("there is no home folder to keep the runs in (%w): name one with --data", err)}
	}
	return filepath.Join(home, ".local", "state", name), nil
}

func writable(folder string) error {
	probe, err := os.CreateTemp(folder, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// keyFile is made after the first start has made the database.
const keyFile = "token.key"

// emptied refuses a database file that holds nothing, where there was one before: the store would
// take it for a new one.
func emptied(folder, file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Size() > 0 { // one that was deleted is meant to be
		return nil //nolint:nilerr // the store says it better
	}
	if _, err := os.Stat(filepath.Join(folder, keyFile)); err != nil {
		return nil //nolint:nilerr // a first start that came to no end
	}
	return &exit{code: broken, err: fmt.Errorf("%s is empty, and had runs in it: put a copy of it in its place; or delete it to begin anew", file)}
}

// keyBytes is how long the key is that signs completion tokens.
const keyBytes = 32

// tokenKey reads the key that signs completion tokens, or makes it. It must outlive the process, as
// tokens do. The store is open, so no other process is here.
func (p *program) tokenKey(folder string) ([]byte, error) {
	file := filepath.Join(folder, keyFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(file)
	}
	if err != nil {
		return nil, &exit{code: broken, err: fmt.Errorf("the key of completion tokens was not read: %w", err)}
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keyBytes {
		return nil, &exit{code: broken, err: fmt.Errorf("%s is damaged: bring it back from a copy; without one, delete it, and no completion token "+
			"that was given away is good any more", file)}
	}
	p.warnOthers(file, "and with it complete activities")
	return key, nil
}

// warnOthers tells who runs the server that a file is not for them alone.
func (p *program) warnOthers(file, consequence string) {
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		p.say("warning: others may read %s, %s: chmod 600 %s", file, consequence, file)
	}
}

// makeKey puts the file in its place when it is whole.
func makeKey(file string) ([]byte, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key)                                 // never fails
	whole, err := os.CreateTemp(filepath.Dir(file), ".*") // of mode 0600
	if err == nil {
		_, err = whole.WriteString(hex.EncodeToString(key) + "\n")
		err = errors.Join(err, whole.Sync(), whole.Close())
	}
	if err == nil {
		err = os.Rename(whole.Name(), file)
	}
	if err != nil {
		if whole != nil {
			_ = os.Remove(whole.Name())
		}
		return nil, &exit{code: broken, err: fmt.Errorf("the key of completion tokens was not stored: %w", err)}
	}
	return key, nil
}
