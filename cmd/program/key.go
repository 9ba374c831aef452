package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/spf13/cobra"

	"github.com/reprise-run/reprise/core/history"
	"github.com/reprise-run/reprise/core/seal"
	"github.com/reprise-run/reprise/infra/aws"
	"github.com/reprise-run/reprise/infra/aws/kms"
)

// keyVariable names the variable that stands for the flag.
const keyVariable = "REPRISE_ENCRYPTION_KEY_FILE"

const keyHelp = "A key file has a key in each line, 32 bytes in base64, as `openssl rand -base64 32` makes them. The first seals, all open: to rotate, put a " +
	"new key in front, and keep the others for as long as there are runs from before."

func keyFlag(command *cobra.Command, file *string) {
	command.Flags().StringVar(file, "encryption-key", "", "a `FILE` with the keys that values are sealed with (default $"+keyVariable+")")
}

// keyring reads the keys that were given; nil: none.
func (p *program) keyring(file string) (*seal.Cipher, error) {
	if file == "" {
		file = os.Getenv(keyVariable)
	}
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &exit{code: usage, err: fmt.Errorf("the encryption key was not read: %w", err)}
	}
	ring, err := seal.ParseKeyring(string(text))
	if err != nil {
		return nil, &exit{code: usage, err: fmt.Errorf("%s: %w", file, err)}
	}
	p.warnOthers(file, "and with it all that is sealed")
	return seal.New(ring), nil
}

// codec is what values are sealed with; nil, without keys.
func (p *program) codec(file string) (seal.Codec, error) {
	ring, err := p.keyring(file)
	if ring == nil { // and no pointer that is nil within something that is not
		return nil, err
	}
	return ring, nil
}

// decodeExport reads an exported history. What is sealed is opened with the keys that came with it, which KMS unwraps for whoever may
// use the key there, else with those of a file.
func (p *program) decodeExport(ctx context.Context, text []byte, file string) (*history.Export, error) {
	return seal.DecodeExport(ctx, text, func(keys map[string]string) (seal.Codec, error) {
		if len(keys) > 0 {
			config, err := aws.Load(ctx)
			if err != nil {
				return nil, err
			}
			return seal.New(kms.New(kms.Config{Client: awskms.NewFromConfig(config), Wrapped: kms.Known(keys)})), nil
		}
		ring, err := p.keyring(file)
		if err == nil && ring == nil {
			err = errors.New("its values are sealed: name the file with the keys of its server, by --encryption-key or " + keyVariable)
		}
		return ring, err
	})
}

func (p *program) decrypt() *cobra.Command {
	file := ""
	command := &cobra.Command{
		Use:   "decrypt FILE",
		Short: "Decrypt the values of an exported history",
		Long: "Decrypt the values of an exported history, and write it as plaintext; - is the standard input. The export of a local server needs the " +
			"file with its keys. The export of a deployment on AWS needs credentials in the environment that allow kms:Decrypt on its key.\n\n" + keyHelp,
		Example: "  " + p.name + " decrypt histories/order-17.json --encryption-key prod.key",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			text, err := p.readInput(args[0])
			if err != nil {
				return &exit{code: usage, err: err}
			}
			export, err := p.decodeExport(command.Context(), text, file)
			if err != nil {
				return p.exitFor(command.Context(), err)
			}
			_, err = p.out.Write(history.AppendExport(nil, export))
			if errors.Is(err, io.ErrClosedPipe) { // a reader that has gone away wants no more
				err = nil
			}
			return err
		},
	}
	keyFlag(command, &file)
	return command
}
