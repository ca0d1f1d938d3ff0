package server

// Routes lists the methods of each path.
func Routes() map[string][]string {
	out := map[string][]string{}
	for path, methods := range endpoints() {
		for method := range methods {
			out[path] = append(out[path], method)
		}
	}
	return out
}
