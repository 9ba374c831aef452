package sqlite

import (
	"context"
	"database/sql/driver"
	"math"

	"github.com/reprise-run/reprise/core/seal"
)

// proven is the value, of no run, that is sealed with each key in use.
const proven = "reprise"

// prove finds out, before anything is done to a run, whether all that is sealed in the file can be opened: a server without
// the key could do nothing but block one run after the other. It also notes what values are sealed with from now on.
//
// A key that no longer seals must be there for as long as there is a run that is older than the change.
func (s *Store) prove(db *connection) error {
	ctx := context.Background()
	var current []byte
	if s.options.Codec != nil {
		var err error
		if current, err = s.options.Codec.Seal(ctx, "", []byte(proven)); err != nil {
			return fault("%s: its values cannot be sealed: %s", s.file, err.Error(), err)
		}
	}
	if _, err := db.exec("DELETE FROM seal WHERE NOT EXISTS (SELECT 1 FROM run WHERE number <= until)"); err != nil {
		return err
	}
	var proofs [][]byte
	err := db.rows("SELECT proof FROM seal", func(row []driver.Value) bool {
		proofs = append(proofs, row[0].([]byte))
		return true
	})
	if err != nil {
		return err
	}
	for _, proof := range proofs {
		if err := s.opens(ctx, proof); err != nil {
			return fault("%s has sealed values that cannot be opened here, and is left as it is: %s", s.file, err.Error(), err)
		}
	}
	_, err = db.exec("UPDATE seal SET until = ? WHERE until = ? AND proof IS NOT ?", s.number, int64(math.MaxInt64), current)
	if err == nil && current != nil {
		_, err = db.exec("INSERT OR REPLACE INTO seal(proof, until) VALUES(?, ?)", current, int64(math.MaxInt64))
	}
	return err
}

func (s *Store) opens(ctx context.Context, proof []byte) error {
	if s.options.Codec == nil {
		return seal.ErrNoKey
	}
	_, err := s.options.Codec.Open(ctx, "", proof)
	return err
}
