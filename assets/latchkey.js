// What a script adds to pages that work without it: it shows passwords, copies codes, sends forms once, ignores clicks that were
// meant for another window, and tells times by the reader's own clock. Buttons that would do nothing without it are hidden in the
// page. All words are in the page, in its language.

/** Copies the text of the element with the id; whether that worked. Clients know the function by this name. */
async function CopyToClipboard(id) {
  const element = document.getElementById(id)
  if (!element) return false
  try {
    await navigator.clipboard.writeText(element.textContent)
    return true
  } catch {
    // Over plain http there is no clipboard to write to, but what is selected can be copied; and it stays selected.
    window.getSelection().selectAllChildren(element)
    return document.execCommand('copy')
  }
}

for (const button of document.querySelectorAll('button[data-copies]')) {
  const label = button.textContent
  const { copied, copiedAloud, selected, selectedAloud } = button.dataset
  const status = document.getElementById('copystatus')
  let back

  const press = async () => {
    const isCopied = await CopyToClipboard(button.dataset.copies)
    button.textContent = isCopied ? copied : selected
    status.textContent = isCopied ? copiedAloud : selectedAloud
    clearTimeout(back)
    back = setTimeout(() => {
      button.textContent = label
      status.textContent = ''
    }, 4000)
  }
  button.addEventListener('click', () => void press())
  button.hidden = false
}

for (const button of document.querySelectorAll('button.reveal')) {
  const input = document.getElementById(button.getAttribute('aria-controls'))
  const status = button.nextElementSibling
  const { shown, concealed } = button.dataset

  const show = isShown => {
    input.type = isShown ? 'text' : 'password'
    button.setAttribute('aria-pressed', String(isShown))
  }
  button.addEventListener('click', () => {
    const isShown = input.type === 'password'
    show(isShown)
    status.textContent = isShown ? shown : concealed
  })
  // Browsers keep what was typed into a field of text, and show it again when the person comes back.
  input.form?.addEventListener('submit', () => show(false))
  addEventListener('pagehide', () => show(false))
  button.hidden = false
}

const DOUBLE_CLICK_MS = 3000

// A double click would send a form again, and then the browser shows what the second one gets: that the code of the mail was
// used, or the question answered, though the first one did what the person wanted.
for (const form of document.forms) {
  let sentAt = -Infinity
  form.addEventListener('submit', event => {
    if (event.timeStamp - sentAt < DOUBLE_CLICK_MS) event.preventDefault()
    else sentAt = event.timeStamp
  })
}

/** As long as a double click may take. */
const SETTLING_MS = 500

// A page of an attacker can have a person click or hold a key in a window above this one, and close it in between, so that the
// rest meets the button that approves ("double clickjacking"). So nothing presses it until the page has been in front for a
// moment without any press. Browsers that a program drives (WebDriver) are exempt; no page can pretend to be one.
for (const button of document.querySelectorAll('button[data-deliberate]')) {
  if (navigator.webdriver) break
  let settledAt = 0
  const unsettle = () => {
    settledAt = performance.now() + SETTLING_MS
  }
  unsettle()
  addEventListener('focus', unsettle)
  addEventListener('pageshow', unsettle)
  document.addEventListener('visibilitychange', unsettle)
  addEventListener('keydown', event => event.repeat && unsettle(), true)
  button.addEventListener('click', event => {
    if (event.timeStamp >= settledAt) return
    event.preventDefault()
    unsettle()
  })
}

for (const element of document.querySelectorAll('time')) {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'long', timeStyle: 'short' })
  const moment = format.format(new Date(element.dateTime))
  if ('moment' in element.dataset) {
    element.title = element.textContent // in UTC
    element.textContent = moment
  } else element.title = moment // beside how long ago it was
}
