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

// A runInfo holds the fields that all checkpoints of a run share. The table cp_origin has a
// row for each runInfo of a thread.
type runInfo struct {
	run, version string
	metadata     map[string]string
}

func (i *runInfo) check() error {
	if err := checkText("run", i.run); err != nil {
		return err
	}
	if err := checkText("version", i.version); err != nil {
		return err
	}
	for name, value := range i.metadata {
		if err := checkText("metadata key", name); err != nil {
			return err
		}
		if err := checkText("metadata value", value); err != nil {
			return err
		}
	}
	return nil
}

// digest returns a hash that identifies the runInfo and detects damage to its stored columns.
func (i *runInfo) digest() []byte {
	b := appendSized(nil, i.run)
	b = appendSized(b, i.version)
	for _, name := range slices.Sorted(maps.Keys(i.metadata)) {
		b = appendSized(b, name)
		b = appendSized(b, i.metadata[name])
	}
	sum := sha256.Sum256(b)
	return sum[:16]
}

// metaJSON returns the metadata as JSON, or nil if it is empty.
func metaJSON(metadata map[string]string) (*string, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(metadata)
	text := string(b)
	return &text, err
}

// readRunInfo checks the columns of a stored runInfo against their digest.
func readRunInfo(run, version string, meta, digest []byte) (*runInfo, error) {
	i := &runInfo{run: run, version: version}
	if meta != nil {
		if err := json.Unmarshal(meta, &i.metadata); err != nil {
			return nil, fmt.Errorf("the metadata of its run: %w: %w", checkpoint.ErrCorrupt, err)
		}
	}
	if !bytes.Equal(digest, i.digest()) {
		return nil, fmt.Errorf("the digest of its run, version and metadata does not match: %w", checkpoint.ErrCorrupt)
	}
	return i, nil
}
