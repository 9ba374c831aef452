package order

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/reprise-run/reprise/core/activity"
)

// Folder is the environment variable with the folder in which orders keep their ledgers. If it is
// empty, ledgers are kept in the folder orders of the server's data folder or, where there is none,
// in reprise-orders among the temporary files.
const Folder = "REPRISE_ORDER_FOLDER"

// Ledger is a folder that stands for shop, bank and carrier: what was done is a file in it, and
// what was undone is another. Files appear whole or not at all, so neither many writers nor a crash
// can leave half an entry.
type Ledger struct{ folder *os.Root }

// OpenLedger opens the ledger of this name within a folder. Both are made if they are missing. The
// empty name is the folder itself. A name that leaves the folder is an error that another attempt
// would not help.
func OpenLedger(folder, name string) (Ledger, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return Ledger{}, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil || name == "" {
		return Ledger{root}, err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(name, 0o755); err != nil {
		return Ledger{}, activity.NonRetryable(fmt.Errorf("input.ledger must name a folder within the one that the operator allows: %w", err))
	}
	inner, err := root.OpenRoot(name)
	return Ledger{inner}, err
}

// Close closes the folder.
func (l Ledger) Close() error { return l.folder.Close() }

// ledgers is the folder that the operator allows.
func ledgers(ctx context.Context) string {
	if folder := os.Getenv(Folder); folder != "" {
		return folder
	}
	if folder := activity.InfoOf(ctx).DataFolder; folder != "" {
		return filepath.Join(folder, "orders")
	}
	return filepath.Join(os.TempDir(), "reprise-orders")
}

// Kind of what orders do.
type Kind string

const (
	Reservations Kind = "reservation"
	Charges      Kind = "charge"
	Shipments    Kind = "shipment"
)

// Entry is something that was done.
type Entry struct {
	// Key tells repetitions: there is one entry for each.
	Key   string `json:"key"`
	Run   string `json:"run"`
	Order string `json:"order"`
	What  string `json:"what"`
	// Undone: by now. It is not stored with the entry.
	Undone bool `json:"-"`
}

// Do notes something as done, unless it is, and gives its confirmation. What was undone before
// stays so: an attempt that was given up, and is late, must not do it after all.
func (l Ledger) Do(kind Kind, entry Entry) (confirmation string, err error) {
	name := digest(entry.Key)
	if err := l.create(l.file(kind, name), entry); err != nil {
		return "", err
	}
	undone, err := l.undone(kind, entry.Order) // looked at last: whoever comes second, of Do and Undo, sees the other
	if err == nil && undone {
		err = activity.NonRetryable(fmt.Errorf("the %s of order %s was undone already", kind, entry.Order))
	}
	return string(kind) + "-" + name[:12], err
}

// Undo undoes all of a kind that an order did, or is still about to do.
func (l Ledger) Undo(kind Kind, order string) error {
	return l.create(l.file("undone-"+kind, digest(order)), Entry{Order: order})
}

// Entries lists everything of a kind, in no particular order.
func (l Ledger) Entries(kind Kind) (entries []Entry, err error) {
	files, err := fs.Glob(l.folder.FS(), l.file(kind, "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := l.folder.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var entry Entry
		if err := json.Unmarshal(text, &entry); err != nil {
			return nil, fmt.Errorf("ledger entry %s: %w", file, err)
		}
		if entry.Undone, err = l.undone(kind, entry.Order); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (l Ledger) undone(kind Kind, order string) (bool, error) {
	_, err := l.folder.Stat(l.file("undone-"+kind, digest(order)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (l Ledger) file(kind Kind, name string) string { return path.Join(string(kind), name+".json") }

// digest makes a file's name of any text.
func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// create writes a file under another name, and links it to its own unless that is taken.
func (l Ledger) create(file string, entry Entry) error {
	text, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	if err := l.folder.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	draft := file + "-" + rand.Text()
	if err := l.folder.WriteFile(draft, append(text, '\n'), 0o644); err != nil {
		return err
	}
	defer func() { _ = l.folder.Remove(draft) }() // what stays behind is no entry: it has another suffix
	if err := l.folder.Link(draft, file); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
