package sqlitememory

import "encoding/hex"

// packID returns the bytes of a UUID in lower case with hyphens, and false for any other text.
func packID(id string) (packed []byte, ok bool) {
	if len(id) != 36 {
		return nil, false
	}
	packed, err := hex.DecodeString(id[0:8] + id[9:13] + id[14:18] + id[19:23] + id[24:])
	return packed, err == nil && spellID(packed) == id
}

func spellID(packed []byte) string {
	h := hex.EncodeToString(packed)
	if len(h) != 32 {
		return h
	}
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
