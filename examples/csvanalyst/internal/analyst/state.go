package analyst

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/examples/csvanalyst/internal/csvdb"
	"github.com/weft-go/weft/examples/csvanalyst/internal/records"
	"github.com/weft-go/weft/llm"
)

// A message is a message of the user or the assistant.
type message struct {
	Role    llm.Role        `json:"role"`
	Content string          `json:"content"`
	Images  []records.Image `json:"images,omitempty"`
}

// UnmarshalJSON refuses an invalid message. The state decodes every value that is written to it, so no invalid
// message gets in or out.
func (m *message) UnmarshalJSON(data []byte) error {
	type plain message
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	if m.Role != llm.RoleUser && m.Role != llm.RoleAssistant {
		return fmt.Errorf("a message of the role %q", m.Role)
	}
	for _, image := range m.Images {
		if image.MIMEType == "" || len(image.Data) == 0 {
			return fmt.Errorf("an image without a type or content")
		}
	}
	return nil
}

// A csvResource describes a file for the model. Columns and RowCount are absent if the file cannot be read.
type csvResource struct {
	ID           string         `json:"id"`
	OriginalName string         `json:"originalName"`
	StoredPath   string         `json:"storedPath"`
	SizeBytes    int64          `json:"sizeBytes"`
	Columns      []string       `json:"columns,omitempty"`
	RowCount     *int64         `json:"rowCount,omitempty"`
	Details      []csvdb.Column `json:"details,omitempty"`
	Notes        []string       `json:"notes,omitempty"`
}

// UnmarshalJSON refuses invalid metadata.
func (r *csvResource) UnmarshalJSON(data []byte) error {
	type plain csvResource
	if err := json.Unmarshal(data, (*plain)(r)); err != nil {
		return err
	}
	if r.ID == "" || r.OriginalName == "" || r.StoredPath == "" || r.SizeBytes < 0 || r.RowCount != nil && *r.RowCount < 0 {
		return fmt.Errorf("the metadata of a file without an id, name, path or size: %s", data)
	}
	return nil
}
