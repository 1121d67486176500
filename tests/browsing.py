"""A page in a real browser, with what every page of ours must keep."""


def opened(browser, path, width, scheme):
    """The page of a file, open: nothing in the console, nothing asked of the network, images shown, no scrolling
    sideways, and the colours that the reader prefers."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert said == []
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("[...document.images].filter(i => !(i.complete && i.naturalWidth)).map(i => i.src)") == []
    ground = sum(map(int, page.evaluate("getComputedStyle(document.body).backgroundColor").strip("rgb()").split(",")))
    assert ground < 200 if scheme == "dark" else ground > 600
    return page
