package system

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
)

// Revision is the commit that this program was built from, the same for all programs of a build. It is
// "" if the build did not note it, or if files were changed since: then it does not name the code.
func Revision() string {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	noted := map[string]string{}
	for _, setting := range build.Settings {
		noted[setting.Key] = setting.Value
	}
	if noted["vcs.modified"] != "false" {
		return ""
	}
	return noted["vcs.revision"]
}

// Executable names this program's code by a hash of its file, 16 characters of [0-9a-f].
func Executable() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the file of this program was not found: %w", err)
	}
	return hashOf(path)
}

func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("the file of this program was not read: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("the file of this program was not read: %w", err)
	}
	const length = 16
	return hex.EncodeToString(sum.Sum(nil))[:length], nil
}
