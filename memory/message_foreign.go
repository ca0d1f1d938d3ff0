package memory

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// types caches whether [llm.FromLangChain] knows a type of message.
type types map[string]bool

// foreign reports whether an entry has a type that [llm.FromLangChain] does not know. An entry
// without a type is not foreign.
func (t types) foreign(entry json.RawMessage) bool {
	var outer map[string]json.RawMessage
	var name string
	if json.Unmarshal(entry, &outer) != nil || json.Unmarshal(outer["type"], &name) != nil || name == "" || name == "remove" {
		return false
	}
	known, asked := t[name]
	if !asked {
		data := map[string]string{"content": "x", "role": "user", "tool_call_id": "x", "name": "x"}
		probe, err := json.Marshal([]any{map[string]any{"type": name, "data": data}})
		if err == nil {
			_, err = llm.FromLangChain(probe)
		}
		known = err == nil
		t[name] = known
	}
	return !known
}

// keep returns a row for an entry of a foreign type. The row has no role and no terms, so that
// no model and no search gets it.
func keep(entry json.RawMessage, id string) driver.MessageRow {
	sum := sha256.Sum256(entry)
	return driver.MessageRow{ID: id, Key: [16]byte(sum[:16]), Data: entry}
}

// idOf returns the id of an entry, or a new id if it has no valid one.
func idOf(entry json.RawMessage) string {
	var outer, data map[string]json.RawMessage
	var id string
	if json.Unmarshal(entry, &outer) == nil && json.Unmarshal(outer["data"], &data) == nil &&
		json.Unmarshal(data["id"], &id) == nil && id != "" && input.Name("id", id) == nil {
		return id
	}
	return uuid.New()
}

// readable returns the rows that are not of a foreign type.
func readable(rows []driver.MessageRow) []driver.MessageRow {
	known := types{}
	return slices.DeleteFunc(slices.Clone(rows), func(r driver.MessageRow) bool { return known.foreign(r.Data) })
}
