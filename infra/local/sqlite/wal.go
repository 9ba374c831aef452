package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Sizes in a write-ahead log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log.
const (
	walHeader   = 32
	frameHeader = 24
	pageSize    = 4096
)

// checkWAL looks for damage in the write-ahead log of a file that was not closed. SQLite reads such a log up to where its
// checksums break, and takes all after that for what a crash left unfinished. It is that only if nothing follows it: each
// commit is flushed before the next one begins. So where one commit, and a frame that continues it, stand after the break,
// what broke had been flushed, its writes had been accepted, and SQLite would drop them without a word.
//
// Damage within the very last commit cannot be told from one that was never finished.
func checkWAL(file string) error {
	log, err := os.Open(file + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // it was only read
	r := &walReader{in: bufio.NewReaderSize(log, 1<<18)}
	broken, lost, err := r.read()
	if err != nil {
		return fault("%s-wal cannot be read (%s): check the disk", file, err.Error(), err)
	}
	if !lost {
		return nil
	}
	return fault("%s-wal is damaged at byte %d: what was stored from there on cannot be read any more: put a copy of %s in its place and delete %s-wal; "+
		"or have all before the damage kept and the rest forgotten: `sqlite3 %s 'PRAGMA wal_checkpoint(TRUNCATE)'`", file, broken, file, file, file)
}

// checkPair refuses a file that is empty beside a write-ahead log that is not: SQLite would delete the log.
func checkPair(file string) error {
	if !empty(file) || empty(file+"-wal") {
		return nil
	}
	return fault("%s is empty or gone, and %s-wal has writes that belong to it: put a copy of %s in its place and delete %s-wal; "+
		"or delete both to begin anew", file, file, file, file)
}

func missing(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, os.ErrNotExist)
}

func empty(file string) bool {
	info, err := os.Stat(file)
	return errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0
}

// sums are a running checksum.
type sums [2]uint32

func (s sums) add(order binary.ByteOrder, text []byte) sums {
	for ; len(text) >= 8; text = text[8:] {
		s[0] += order.Uint32(text) + s[1]
		s[1] += order.Uint32(text[4:]) + s[0]
	}
	return s
}

// sumsAt reads a stored checksum.
func sumsAt(text []byte) sums {
	return sums{binary.BigEndian.Uint32(text), binary.BigEndian.Uint32(text[4:])}
}

// walReader goes through the frames of a log.
type walReader struct {
	in    *bufio.Reader
	order binary.ByteOrder // of checksums
	salts uint64           // of this round of the log; frames of earlier rounds have others
	sums  sums             // of the frame before, as far as all is sound
	sound bool
}

// read says where the log breaks, and whether what is lost by that had been flushed.
func (r *walReader) read() (broken int64, lost bool, err error) {
	header, frame := make([]byte, walHeader), make([]byte, frameHeader+pageSize)
	if end, err := r.next(header); end {
		return 0, false, err
	}
	r.begin(header)
	at := int64(walHeader)
	if !r.sound {
		at = 0
	}
	commit, before := false, sums{} // whether the frame before ends a commit, and its checksum as it is stored
	for {
		if end, err := r.next(frame); end {
			return at, false, err
		}
		head, stored := frame[:8], sumsAt(frame[16:])
		salts := binary.BigEndian.Uint64(frame[8:])
		if r.salts == 0 { // the header is of no use
			r.salts = salts
		}
		if r.sound = r.sound && salts == r.salts && r.sums.add(r.order, head).add(r.order, frame[frameHeader:]) == stored; r.sound {
			r.sums = stored
			at += int64(len(frame))
		} else if commit && salts == r.salts && before.add(r.order, head).add(r.order, frame[frameHeader:]) == stored {
			return at, true, nil
		}
		commit, before = salts == r.salts && binary.BigEndian.Uint32(frame[4:]) != 0, stored
	}
}

func (r *walReader) begin(header []byte) {
	const magic = 0x377f0682 // plus 1 where checksums are big-endian
	r.order = binary.LittleEndian
	mark := binary.BigEndian.Uint32(header)
	if mark == magic|1 {
		r.order = binary.BigEndian
	}
	r.sums = sums{}.add(r.order, header[:24])
	r.sound = mark&^1 == magic && binary.BigEndian.Uint32(header[8:]) == pageSize && r.sums == sumsAt(header[24:])
	if r.sound {
		r.salts = binary.BigEndian.Uint64(header[16:])
	}
}

// next reads all of a piece; end: there is no whole one left.
func (r *walReader) next(piece []byte) (end bool, err error) {
	_, err = io.ReadFull(r.in, piece)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true, nil
	}
	if err != nil {
		return true, fmt.Errorf("reading: %w", err)
	}
	return false, nil
}
