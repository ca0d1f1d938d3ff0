package pgcheckpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

// An origin is what the checkpoints of a run have in common.
type origin struct {
	run, version string
	metadata     map[string]string
}

func (o *origin) check() error {
	if err := checkText("run", o.run); err != nil {
		return err
	}
	if err := checkText("version", o.version); err != nil {
		return err
	}
	for name, value := range o.metadata {
		if err := checkText("metadata", name); err != nil {
			return err
		}
		if err := checkText("metadata", value); err != nil {
			return err
		}
	}
	return nil
}

// digest tells origins apart, and finds damage to one.
func (o *origin) digest() []byte {
	b := appendSized(nil, o.run)
	b = appendSized(b, o.version)
	for _, name := range slices.Sorted(maps.Keys(o.metadata)) {
		b = appendSized(b, name)
		b = appendSized(b, o.metadata[name])
	}
	sum := sha256.Sum256(b)
	return sum[:16]
}

// metaJSON returns nil for no metadata.
func metaJSON(metadata map[string]string) (*string, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(metadata)
	text := string(b)
	return &text, err
}

// readOrigin reads what is stored of an origin.
func readOrigin(run, version string, meta, digest []byte) (*origin, error) {
	o := &origin{run: run, version: version}
	if meta != nil {
		if err := json.Unmarshal(meta, &o.metadata); err != nil {
			return nil, fmt.Errorf("its metadata: %w: %w", checkpoint.ErrCorrupt, err)
		}
	}
	if !bytes.Equal(digest, o.digest()) {
		return nil, fmt.Errorf("its run, version or metadata: %w", checkpoint.ErrCorrupt)
	}
	return o, nil
}
