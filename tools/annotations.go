package tools

// Annotations say what kind of tool a tool is: to find it in a large set, see
// [Set.Select], and to decide what needs a person's approval, see [Destructive].
// They are hints of whoever wrote the tool; those of a server that is not
// trusted are not either.
type Annotations struct {
	// Title is a name for people.
	Title string `json:"title,omitempty"`
	// Category is what the tool is about: "calendar", "mail".
	Category string `json:"category,omitempty"`
	// Action is what it does there: "search", "create", "delete".
	Action string `json:"action,omitempty"`
	// Destructive says that the tool may undo or overwrite something, spend
	// money or speak to others in the user's name.
	Destructive bool `json:"destructive,omitempty"`
	// ReadOnly says that the tool changes nothing.
	ReadOnly bool `json:"read_only,omitempty"`
	// Idempotent says that to call it twice with the same arguments is as good
	// as once.
	Idempotent bool `json:"idempotent,omitempty"`
	// OpenWorld says that the tool deals with what is outside of the system,
	// such as the web: what it returns may be written by anyone.
	OpenWorld bool `json:"open_world,omitempty"`
}

// Annotations returns what kind of tool t is.
func (t Tool) Annotations() Annotations { return t.annotations }

// Annotate returns the tool with these annotations instead of those it has.
func (t Tool) Annotate(a Annotations) Tool {
	t.annotations = a
	return t
}
