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

// types are those of messages, and whether [llm.FromLangChain] knows them. It is asked, so that it
// alone says which it knows.
type types map[string]bool

// foreign reports whether an entry is of a type of message that nobody here knows. What has no
// type is none.
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

// keep returns a row for an entry that can not be read. It has no role and no words, so that no
// model is shown it, and no search finds it.
func keep(entry json.RawMessage, id string) driver.MessageRow {
	sum := sha256.Sum256(entry)
	return driver.MessageRow{ID: id, Key: [16]byte(sum[:16]), Data: entry}
}

// idOf returns the id that an entry gives itself, or else a new one.
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
