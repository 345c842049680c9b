// Package html shows a run as one page that needs nothing else: no network, no
// fonts, no second file. Without its script the page can be read in whole; the
// script filters, keeps the filters in the address, and copies commands.
//
// It must not judge, start or run anything. Whatever a subject can set is text:
// it goes through html/template's escaping, no value of a run is ever marked as
// safe, characters that would act on a reader are written visibly, and the page's
// policy allows its own script and style alone, by their digests.
//
// Start reading at [Render], then limits.go, which says what the page holds of the
// evidence.
package html
