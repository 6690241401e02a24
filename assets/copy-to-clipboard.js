// Copies the text of an element. A button that names one is hidden in the page and shown here: without script there is
// nothing to press, and the text is selected by a click on it. What is said then is in the page, in its language.

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
