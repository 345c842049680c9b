//go:build unix

package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// limit is how long everything that is done in one tab may take.
const limit = time.Minute

// Look is what a page is shown in. The zero value is a desktop window by day.
type Look struct {
	Width, Height int64 // in CSS pixels; zero is 1280 by 900
	Phone         bool  // a touch screen whose layout is as wide as the screen
	Dark          bool  // the reader prefers dark colors
	NoScript      bool
}

// Tab is an open page.
type Tab struct {
	ctx context.Context
	url string

	mu   sync.Mutex
	said []string
	asks []string
}

// Open opens a file, with the fragment of its address, and waits until it is
// loaded. The tab is closed when the test ends.
func (b *Browser) Open(t testing.TB, file, fragment string, look Look) *Tab {
	t.Helper()
	tab := &Tab{url: (&url.URL{Scheme: "file", Path: file}).String()}
	ctx, closing := chromedp.NewContext(b.ctx, chromedp.WithListener(tab.hear))
	ctx, timeout := context.WithTimeout(ctx, limit)
	tab.ctx = ctx
	t.Cleanup(func() { timeout(); closing() })
	if look.Width == 0 {
		look.Width, look.Height = 1280, 900
	}
	viewport := []chromedp.EmulateViewportOption{}
	if look.Phone {
		viewport = append(viewport, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	scheme := "light"
	if look.Dark {
		scheme = "dark"
	}
	require.NoError(t, chromedp.Do(ctx,
		call(network.Enable, network.EnableParams{}), call(page.Enable, page.EnableParams{}), call(log.Enable, cdp.Empty{}),
		chromedp.EmulateViewport(look.Width, look.Height, viewport...),
		call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}),
		call(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: look.NoScript}),
		chromedp.Navigate(tab.url+fragment),
	), "open %s", file)
	return tab
}

func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, command, params)
		return chromedp.Void{}, err
	}
}

// hear notes what a page that is only read does not do.
func (tab *Tab) hear(event any) {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	switch e := event.(type) {
	case *page.EventJavascriptDialogOpening:
		tab.said = append(tab.said, "dialog: "+e.Message)
	case *runtime.EventConsoleAPICalled:
		tab.said = append(tab.said, fmt.Sprintf("console: %s", e.Type))
	case *runtime.EventExceptionThrown:
		tab.said = append(tab.said, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		tab.said = append(tab.said, "log: "+e.Entry.Text)
	case *network.EventRequestWillBeSent:
		if asked := e.Request.URL; asked != tab.url && !strings.HasPrefix(asked, "data:,") {
			tab.asks = append(tab.asks, asked)
		}
	}
}

// Said is the dialogs, console calls, exceptions and complaints of the browser so
// far, refused scripts and styles among them.
func (tab *Tab) Said() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.said)
}

// Asked is the addresses that were asked for so far, that of the page aside.
func (tab *Tab) Asked() []string {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	return slices.Clone(tab.asks)
}

// Value is what an expression is in the page. A promise is awaited.
func Value[T any](t testing.TB, tab *Tab, expression string) T {
	t.Helper()
	v, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(t, err, "evaluate %s", expression)
	return v
}

// Press presses keys, one after the other; those of package kb that have no letter
// too.
func (tab *Tab) Press(t testing.TB, keys string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab.ctx, chromedp.KeyEvent(keys)), "press %q", keys)
}

// Click clicks on the first element that a CSS selector finds.
func (tab *Tab) Click(t testing.TB, selector string) {
	t.Helper()
	require.NoError(t, chromedp.Do(tab.ctx, chromedp.Click(chromedp.CSS(selector))), "click on %s", selector)
}

// AllowClipboard lets the page read what is copied, as a test has to.
func (tab *Tab) AllowClipboard(t testing.TB) {
	t.Helper()
	for _, name := range []string{"clipboard-read", "clipboard-write"} {
		_, err := chromedp.CallBrowser(tab.ctx, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSettingGranted,
		})
		require.NoError(t, err, "allow the clipboard")
	}
}
