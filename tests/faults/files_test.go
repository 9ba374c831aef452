//go:build faults

package faults

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// files are what a server leaves: the database, and the log of what is not in it yet; either may be missing.
type files struct{ database, log []byte }

const name, logName, keyName = "reprise.db", "reprise.db-wal", "token.key"

func read(t *testing.T, folder string) (f files) {
	t.Helper()
	database, err := os.ReadFile(filepath.Join(folder, name))
	require.NoError(t, err)
	log, err := os.ReadFile(filepath.Join(folder, logName))
	if !os.IsNotExist(err) {
		require.NoError(t, err)
	}
	return files{database, log}
}

// write puts files, and the key of the folder that they come from, into another one.
func (f files) write(t *testing.T, from, folder string) {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(from, keyName))
	require.NoError(t, err)
	for file, text := range map[string][]byte{name: f.database, logName: f.log, keyName: key} {
		if text != nil {
			require.NoError(t, os.WriteFile(filepath.Join(folder, file), text, 0o600))
		}
	}
}

const (
	logHeader   = 32
	frameHeader = 24
	frame       = frameHeader + 4096
)

// commits are the places in a log at which a commit ends: whatever was accepted is before the last of them. This follows
// https://www.sqlite.org/fileformat2.html#wal_file_format, and not the server's own reading of it.
func commits(log []byte) (ends []int) {
	if len(log) < logHeader {
		return nil
	}
	var a, b uint32
	sum := func(text []byte) {
		for i := 0; i < len(text); i += 8 {
			a += binary.LittleEndian.Uint32(text[i:]) + b
			b += binary.LittleEndian.Uint32(text[i+4:]) + a
		}
	}
	sum(log[:24])
	for at := logHeader; at+frame <= len(log); at += frame {
		f := log[at : at+frame]
		sum(f[:8])
		sum(f[frameHeader:])
		if string(f[8:16]) != string(log[16:24]) || binary.BigEndian.Uint32(f[16:]) != a || binary.BigEndian.Uint32(f[20:]) != b {
			break
		}
		if binary.BigEndian.Uint32(f[4:]) != 0 {
			ends = append(ends, at+frame)
		}
	}
	return ends
}

// tear makes of what follows the last commit what a machine may leave that loses its power: less of it, other bytes, or more.
func (f files) tear(random *rand.Rand) files {
	ends := commits(f.log)
	if len(ends) == 0 {
		return f
	}
	end := ends[len(ends)-1]
	tail := append([]byte(nil), f.log[end:]...)
	switch random.IntN(4) {
	case 0:
		tail = tail[:random.IntN(len(tail)+1)]
	case 1:
		tail = append(tail, make([]byte, random.IntN(3*frame))...)
		clear(tail)
	case 2:
		tail = noise(random, random.IntN(3*frame))
	case 3: // a frame that was begun
		last := f.log[end-frame : end]
		tail = append([]byte(nil), last[:random.IntN(frame)]...)
	}
	return files{f.database, append(append([]byte(nil), f.log[:end]...), tail...)}
}

func noise(random *rand.Rand, bytes int) []byte {
	text := make([]byte, bytes)
	for i := range text {
		text[i] = byte(random.Uint32())
	}
	return text
}

// cut loses what the disk had said was flushed: from some place in the log's last commits on.
func (f files) cut(random *rand.Rand) files {
	ends := commits(f.log)
	if len(ends) < 2 {
		return f
	}
	from := ends[max(0, len(ends)-20)]
	return files{f.database, f.log[:from+random.IntN(ends[len(ends)-1]-from)]}
}

// damage changes bytes of the log that were flushed long ago; damaged says whether there were any.
func (f files) damage(random *rand.Rand) (_ files, damaged bool) {
	ends := commits(f.log)
	if len(ends) < 4 {
		return f, false
	}
	log := append([]byte(nil), f.log...)
	at := random.IntN(ends[len(ends)-4])
	log[at] ^= byte(1 + random.IntN(255))
	return files{f.database, log}, true
}

// cutDatabase loses the end of the database itself.
func (f files) cutDatabase(random *rand.Rand) files {
	return files{f.database[:random.IntN(len(f.database)-1)], f.log}
}

// damagePages writes noise over the beginning of some pages of the database.
func (f files) damagePages(random *rand.Rand, pages int) files {
	database := append([]byte(nil), f.database...)
	for range pages {
		at := 4096 * (1 + random.IntN(len(database)/4096-1))
		copy(database[at:at+4096], noise(random, 64))
	}
	return files{database, f.log}
}
