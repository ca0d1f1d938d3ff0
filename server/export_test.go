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

// OpenStreams returns the number of requests that stay open.
func OpenStreams(s *Server) int { return s.accounts.openStreams() }
