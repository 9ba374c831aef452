package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"os"
)

const (
	// scratchPart is how many bytes of a value are read at a time.
	scratchPart = 32 << 10
	// scratchFiles match the names of the files.
	scratchFiles = ".reprise-value-*"
)

// scratch is a value in a file without a name, where the system allows that: it is gone with the
// process. It is encrypted with a key that only this process has, since a store may seal its values.
type scratch struct {
	file *os.File
	aead cipher.AEAD
	size int
}

func newScratch(folder string, text []byte) (s *scratch, err error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	s = &scratch{size: len(text)}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	if s.file, err = os.CreateTemp(folder, scratchFiles); err != nil {
		return nil, err
	}
	_ = os.Remove(s.file.Name())
	var sealed []byte
	for part := 0; part*scratchPart < len(text) && err == nil; part++ {
		plain := text[part*scratchPart : min((part+1)*scratchPart, len(text))]
		sealed = s.aead.Seal(sealed[:0], s.nonce(part), plain, nil)
		_, err = s.file.Write(sealed)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// part reads a part of the text into a buffer, which it makes if it is nil.
func (s *scratch) part(number int, into []byte) ([]byte, error) {
	length := min(scratchPart, s.size-number*scratchPart) + s.aead.Overhead()
	if cap(into) < length {
		into = make([]byte, length)
	}
	into = into[:length]
	if _, err := s.file.ReadAt(into, int64(number)*int64(scratchPart+s.aead.Overhead())); err != nil {
		return nil, err
	}
	return s.aead.Open(into[:0], s.nonce(number), into, nil)
}

// nonce of a part: the key is that of this text alone.
func (s *scratch) nonce(part int) []byte {
	return binary.BigEndian.AppendUint64(make([]byte, s.aead.NonceSize()-8), uint64(part))
}

func (s *scratch) close() error {
	err := s.file.Close()
	_ = os.Remove(s.file.Name()) // where it could not be done before
	return err
}
