package tools

// Annotations describe a tool. [Set.Select] finds tools by their annotations, and
// [Destructive] selects calls for approval by them. They are hints from the author of the
// tool: do not rely on the annotations of a server that you do not trust.
type Annotations struct {
	// Title is a name to show to people.
	Title string `json:"title,omitempty"`
	// Category is the subject of the tool: "calendar", "mail".
	Category string `json:"category,omitempty"`
	// Action is the verb of the tool: "search", "create", "delete".
	Action string `json:"action,omitempty"`
	// Destructive reports that the tool may undo or overwrite something, spend money, or
	// send messages to others in the user's name.
	Destructive bool `json:"destructive,omitempty"`
	// ReadOnly reports that the tool changes nothing.
	ReadOnly bool `json:"read_only,omitempty"`
	// Idempotent reports that a second call with the same arguments has no further effect.
	Idempotent bool `json:"idempotent,omitempty"`
	// OpenWorld reports that the tool reaches systems that the program does not control,
	// such as the web. Its results may be written by anyone.
	OpenWorld bool `json:"open_world,omitempty"`
	// Result is the type of the result, by which a page shows it: "table", "chart", "product".
	// The page of package server/ui has a list.
	Result string `json:"result,omitempty"`
	// Preview is the type of [Question].Preview, by which a page shows it; see [Preview].
	Preview string `json:"preview,omitempty"`
}

// Annotations returns the annotations of the tool.
func (t Tool) Annotations() Annotations { return t.annotations }

// Annotate returns a copy of the tool with these annotations. They replace all earlier
// annotations.
func (t Tool) Annotate(a Annotations) Tool {
	t.annotations = a
	return t
}
