// Package desk holds a person's calendar, mail and tasks, and the tools with which an agent reads and changes them.
// The calendar is an iCalendar file; mail and tasks are in a SQLite database. No mail leaves the machine: a sent mail
// is stored in the folder "sent".
//
// A tool makes its change once for each call of a run, even if the process is killed and the call is repeated; see
// effect.
package desk
