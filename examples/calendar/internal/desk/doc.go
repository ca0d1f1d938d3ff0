// Package desk holds a person's calendar, mail and tasks, and the tools by which
// an agent works on them. The calendar is an iCalendar file; mail and tasks are
// in a SQLite database. No mail leaves the machine: what is sent lies in the
// folder "sent".
//
// A tool that changes something does it once for each call of a run, also when
// the process is killed in the middle and the call is made again; see effect.
package desk
