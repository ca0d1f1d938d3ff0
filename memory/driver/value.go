package driver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// Path returns a text that is unique for each address, because labels have no NUL.
func (a Address) Path() string {
	return strings.Join(a.Namespace, "\x00") + "\x00\x00" + a.Key
}

// An Address is the namespace and the key of a value in a scope.
type Address struct {
	Namespace []string `json:"namespace"`
	Key       string   `json:"key"`
}

// Compare orders addresses by the labels of their namespaces and then by their keys, by bytes.
func (a Address) Compare(b Address) int {
	if order := slices.Compare(a.Namespace, b.Namespace); order != 0 {
		return order
	}
	return strings.Compare(a.Key, b.Key)
}

// An Item is a stored value.
type Item struct {
	Address
	// Value is any JSON.
	Value json.RawMessage `json:"value"`
	// Version grows with each write, even if the value was deleted in between. It is zero for a value that
	// does not exist.
	Version int64 `json:"version"`
	// CreatedAt and UpdatedAt are times of the store's clock. ExpiresAt is zero for a value that does not
	// expire.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Known reports whether the value exists.
func (i Item) Known() bool { return i.Version != 0 }

const (
	// MaxValue is the maximum number of bytes of a value.
	MaxValue = 4 << 20
	// MaxLabels is the maximum number of labels of a namespace. Together they have at most 1024 bytes.
	MaxLabels = 16
	maxLabels = 1024
)

// CheckNamespace returns [ErrInvalid] for a namespace with an empty label, too many labels or too many bytes.
func CheckNamespace(labels []string) error {
	if len(labels) > MaxLabels {
		return fmt.Errorf("a namespace of %d labels, and %d are allowed: %w", len(labels), MaxLabels, ErrInvalid)
	}
	size := 0
	for i, label := range labels {
		if label == "" {
			return fmt.Errorf("label %d of the namespace %q is empty: %w", i, labels, ErrInvalid)
		}
		if err := input.Name("label", label); err != nil {
			return err
		}
		size += len(label)
	}
	if size > maxLabels {
		return fmt.Errorf("a namespace of %d bytes, and %d are allowed: %w", size, maxLabels, ErrInvalid)
	}
	return nil
}

// Validate returns [ErrInvalid] for an address that a value cannot have.
func (a Address) Validate() error {
	switch {
	case len(a.Namespace) == 0:
		return fmt.Errorf("key %.40q: a namespace without labels holds no values: %w", a.Key, ErrInvalid)
	case a.Key == "":
		return fmt.Errorf("namespace %q: no key: %w", a.Namespace, ErrInvalid)
	}
	if err := CheckNamespace(a.Namespace); err != nil {
		return err
	}
	return input.Name("key", a.Key)
}
