// Package ics reads and changes a calendar in an iCalendar file (RFC 5545), the format in which calendar programs
// exchange events.
//
// A change replaces the whole file atomically. All other content, such as alarms, properties of other programs and
// time zones, stays unchanged and in its place. Every call reads the file again, so another program may write it
// between two calls. Writers in one program must not run at the same time.
package ics
