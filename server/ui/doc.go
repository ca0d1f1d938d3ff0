// Package ui has the pages of a server: the chat for end users and the studio. They are built from the TypeScript beside
// this file. The built files are part of the package, so that a program does not need Node.
//
// A page is served without authentication and contains no data of a user. It calls the server with the credentials of
// the user: the cookies of the browser, a token that the person has entered, or the headers that [Chat.Script] sets. It
// sends no request to another host, and its policy forbids scripts of other origins.
package ui
