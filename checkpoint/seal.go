package checkpoint

import (
	"fmt"
)

// An encrypted value is a frame: the form, which is less than [minPlain]; the length of the key id; the key id;
// a random nonce of 12 bytes; the ciphertext; a tag of 16 bytes.
//
// The additional data of a frame of form 1 is its place. This version reads such frames,
// but does not write them. The additional data of a frame of form 2 also covers the other
// fields of the checkpoint, and a [binding] connects the frames of one checkpoint.
const (
	sealSingle = 0x01
	sealBound  = 0x02
	sealHeader = 2
)

// minPlain is greater than every form, including the forms of later versions. A value whose first byte is minPlain or
// greater, such as a JSON value, is not encrypted.
const minPlain = ' '

// plainValue is the [ErrFormat] of a value that is not encrypted. The command weft looks for its method Unencrypted.
type plainValue struct{}

func (plainValue) Error() string { return "the value is not encrypted" }
func (plainValue) Unwrap() error { return ErrFormat }
func (plainValue) Unencrypted()  {}

// seal encrypts data. It never fails.
func (s *sealer) seal(data []byte, p *place) []byte {
	key := s.keys[s.active]
	b := make([]byte, 0, sealHeader+len(s.active)+len(data)+key.Overhead())
	b = append(b, p.form, byte(len(s.active)))
	b = append(b, s.active...)
	return key.Seal(b, nil, data, p.additional())
}

// open decrypts a frame, which must have the form p.form. The result does not share
// memory with the frame.
func (s *sealer) open(sealed []byte, p *place) ([]byte, error) {
	form, id, rest, err := parseSeal(sealed)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %s: %w", p, err)
	}
	if form != p.form {
		return nil, p.altered("its encryption has form %d and the rest of the checkpoint has form %d", form, p.form)
	}
	key := s.keys[id]
	if key == nil {
		return nil, fmt.Errorf("checkpoint: %s: it needs key %q, which is not in the key ring; add that key: %w", p, id, ErrDecrypt)
	}
	data, err := key.Open([]byte{}, nil, rest, p.additional())
	if err != nil {
		return nil, p.altered("key %q is another key than the one that encrypted it, or the data was altered or moved", id)
	}
	return data, nil
}

// parseSeal splits a frame into its form, its key id, and its nonce and ciphertext.
func parseSeal(sealed []byte) (form byte, id string, rest []byte, err error) {
	if len(sealed) == 0 {
		return 0, "", nil, fmt.Errorf("the encrypted value is missing: %w", ErrDecrypt)
	}
	form = sealed[0]
	if form >= minPlain {
		return 0, "", nil, plainValue{}
	}
	if form != sealSingle && form != sealBound {
		return 0, "", nil, fmt.Errorf("encryption of form %d; a newer version wrote it, or the value is not encrypted: %w", form, ErrFormat)
	}
	if len(sealed) < sealHeader || len(sealed) < sealHeader+int(sealed[1]) {
		return 0, "", nil, fmt.Errorf("an encrypted value of %d bytes is cut off: %w", len(sealed), ErrDecrypt)
	}
	end := sealHeader + int(sealed[1])
	return form, string(sealed[sealHeader:end]), sealed[end:], nil
}

// changes returns the list with the data of each change encrypted or decrypted by apply. The
// place of a change includes its position in the list and the length of the list.
func (s *sealer) changes(list []Change, in place, apply func([]byte, *place) ([]byte, error)) ([]Change, error) {
	if list == nil {
		return nil, nil
	}
	applied := make([]Change, len(list), len(list)+1)
	for i, c := range list {
		p := in
		p.channel, p.kind, p.index, p.count = c.Channel, c.Kind, i, len(list)
		data, err := apply(c.Data, &p)
		if err != nil {
			return nil, err
		}
		c.Data = data
		applied[i] = c
	}
	return applied, nil
}

// sealed is seal with the signature of open.
func (s *sealer) sealed(data []byte, p *place) ([]byte, error) { return s.seal(data, p), nil }
