//go:build kill

package kill

import (
	"os"
	"testing"
)

// stalls names the environment variable that makes this test's binary a worker of the server there.
const stalls = "KILL_WORKER"

func TestMain(m *testing.M) {
	if server := os.Getenv(stalls); server != "" {
		stall(server)
		return
	}
	os.Exit(m.Run())
}
