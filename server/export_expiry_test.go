package server

import "context"

// Expire deletes or prunes the threads that have expired.
func Expire(ctx context.Context, s *Server) error { return s.expire(ctx) }
