// Puts the explorer in the place of the list of /docs, on screens with room for its navigation. Runs before the list is drawn.
// Without script, on small screens, at /docs?list and where the explorer does not load, the list stays.

const { explorer, description, server } = document.currentScript.dataset
const page = document.documentElement
const base = location.origin + server // of the zone that the page is of
const dark = matchMedia('(prefers-color-scheme: dark)')

/** The colours of the stylesheet, which a zone may have changed. */
function colours() {
  const styles = getComputedStyle(page)
  const of = name => styles.getPropertyValue(`--${name}`).trim()
  return {
    theme: dark.matches ? 'dark' : 'light',
    'bg-color': of('card'),
    'text-color': of('ink'),
    'primary-color': of('link'),
    'nav-bg-color': of('ground'),
    'nav-text-color': of('ink'),
    'nav-hover-bg-color': of('tint'),
    'nav-hover-text-color': of('ink'),
    'nav-accent-color': of('link'),
    'nav-accent-text-color': of('card'),
  }
}

const fixed = {
  'server-url': base,
  'default-api-server': base,
  'render-style': 'focused',
  'schema-style': 'table',
  'show-method-in-nav-bar': 'as-colored-text',
  'nav-active-item-marker': 'colored-block',
  'regular-font': 'system-ui, sans-serif',
  'mono-font': 'ui-monospace, monospace',
  'font-size': 'large',
  'load-fonts': 'false',
  'show-header': 'false',
  'allow-server-selection': 'false',
  'allow-spec-url-load': 'false',
  'allow-spec-file-load': 'false',
  'allow-spec-file-download': 'false',
  // A request that somebody tries carries what they typed, never their session.
  'fetch-credentials': 'omit',
}

/** No string may contain NUL. Beside every parameter this says nothing; programs read it in the document. */
const WITHOUT_NUL = '^[^\\u0000]*$'

/** The document for readers. */
async function readable() {
  const response = await fetch(description)
  return JSON.parse(await response.text(), (name, value) =>
    name === 'pattern' && value === WITHOUT_NUL ? undefined : value,
  )
}

function draw() {
  const element = document.createElement('rapi-doc')
  const set = attributes => {
    for (const [name, value] of Object.entries(attributes)) if (value !== '') element.setAttribute(name, value)
  }
  set({ ...fixed, ...colours() })
  dark.addEventListener('change', () => set(colours()))
  const links = document.getElementById('explorer-links')
  links.hidden = false
  links.slot = 'nav-logo'
  element.append(links)
  document.getElementById('main').append(element)
  readable().then(
    document => element.loadSpec(document),
    () => element.setAttribute('spec-url', description), // which shows what is wrong
  )
}

if (matchMedia('(min-width: 64rem)').matches && location.search !== '?list') {
  page.classList.add('explored')
  const script = document.createElement('script')
  script.src = explorer
  script.addEventListener('load', () => {
    if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', draw)
    else draw()
  })
  script.addEventListener('error', () => page.classList.remove('explored'))
  document.head.append(script)
}
