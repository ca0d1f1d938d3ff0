// Package ics reads and changes a calendar in an iCalendar file (RFC 5545), the
// form in which calendar programs exchange what they hold.
//
// A change rewrites the file at once and whole. Whatever it does not concern,
// such as alarms, properties of other programs and time zones, stays as it was
// and where it was. Every call reads the file anew, so another program may write
// it in between; writers of one program have to take turns.
package ics
