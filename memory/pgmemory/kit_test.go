package pgmemory_test

import (
	"crypto/sha256"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory/driver"
)

func newID() string { return uuid.New() }

// adding returns a change that adds a fact as package memory does, with a vector of the model "m"
// if there are numbers.
func adding(content string, vector ...float32) driver.FactChange {
	sum := sha256.Sum256([]byte(strings.ToLower(content)))
	r := driver.FactRecord{
		Fact:  driver.Fact{ID: newID(), Kind: driver.Plain, Content: content, Importance: 0.5, Trust: driver.Stated},
		Key:   [16]byte(sum[:16]),
		Terms: strings.Fields(strings.ToLower(content)), Embedding: vector,
	}
	if vector != nil {
		r.Model = "m"
	}
	return driver.FactChange{Kind: driver.Add, Record: r}
}

var ann = driver.Scope{Tenant: "acme", User: "ann"}

// count returns the number of repetitions from the environment, or n.
func count(tb testing.TB, name string, n int) int {
	tb.Helper()
	text := os.Getenv(name)
	if text == "" {
		return n
	}
	n, err := strconv.Atoi(text)
	require.NoError(tb, err, "%s: %v", name, err)
	return n
}
