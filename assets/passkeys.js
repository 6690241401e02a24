// What a page with a passkey needs of the browser. The form says what to ask (`data-options`, the JSON of Web Authentication
// §5.1.8 and §5.1.9) and gets the answer in its field; the server decides.

/** JSON of the answer; older browsers cannot make it themselves. */
function answerOf(credential) {
  if (credential.toJSON) return JSON.stringify(credential.toJSON())
  const { id, type, response } = credential
  const members = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle']
  const written = members.flatMap(name => (response[name] ? [[name, base64url(response[name])]] : []))
  const transports = response.getTransports?.()
  return JSON.stringify({ id, rawId: id, type, response: { ...Object.fromEntries(written), transports } })
}

function hiddenField(name) {
  const field = document.createElement('input')
  return Object.assign(field, { type: 'hidden', name })
}

const base64url = buffer =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

const bytesOf = text =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), each => each.charCodeAt(0))

const withBytes = list => list?.map(each => ({ ...each, id: bytesOf(each.id) }))

/** What the browser takes; browsers that read the JSON themselves know more of it. */
function requestOf(ceremony, options) {
  if (ceremony === 'create') {
    if (PublicKeyCredential.parseCreationOptionsFromJSON) {
      return PublicKeyCredential.parseCreationOptionsFromJSON(options)
    }
    const user = { ...options.user, id: bytesOf(options.user.id) }
    return {
      ...options,
      user,
      challenge: bytesOf(options.challenge),
      excludeCredentials: withBytes(options.excludeCredentials),
    }
  }
  if (PublicKeyCredential.parseRequestOptionsFromJSON) return PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return { ...options, challenge: bytesOf(options.challenge), allowCredentials: withBytes(options.allowCredentials) }
}

const answerField = form => form.elements.credential ?? form.appendChild(hiddenField('credential'))

/** Posts an empty answer: the server says what is wrong, or leads on. */
function giveUp(form) {
  answerField(form).value = ''
  form.submit()
}

/**
 * Asks, and posts the answer. When the person or the browser gave up, the page says so: here where it has a place for it, else
 * by an empty answer.
 */
async function ask(form, { options, ...how }) {
  const { passkey: ceremony } = form.dataset
  const field = answerField(form)
  const status = form.querySelector('[data-unused]')
  if (status && !how.mediation) status.textContent = ''
  try {
    const publicKey = requestOf(ceremony, options)
    const credential = await navigator.credentials[ceremony]({ publicKey, ...how })
    field.value = answerOf(credential)
  } catch (cause) {
    if (cause.name === 'AbortError' || how.mediation) return // nobody pressed anything
    if (status) {
      status.textContent = status.dataset.unused
      return
    }
    field.value = ''
    if (cause.name === 'InvalidStateError') form.append(Object.assign(hiddenField('is_known'), { value: 'true' }))
  }
  form.submit()
}

/**
 * The options of a page that has no session yet are fetched, so that nothing is made for visitors who type a password. Undefined
 * if the server refuses them: the page is too old, for example, or the person has signed in in another tab.
 */
async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options)
  const response = await fetch(form.dataset.optionsUrl, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
    credentials: 'same-origin',
  })
  return response.ok ? response.json() : undefined
}

/** Shorter than the life of a challenge, which is five minutes. */
const OFFER_MS = 240_000

for (const form of document.querySelectorAll('form[data-passkey]')) {
  const isOffered = 'conditional' in form.dataset && globalThis.PublicKeyCredential !== undefined
  let waiting
  let since = 0
  let isPressed = false

  /** Offers passkeys among what the browser fills in (§5.1.4), until the button is pressed. */
  const offer = async () => {
    since = Date.now()
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return
    const options = await optionsOf(form)
    if (!options) return
    waiting = new AbortController()
    await ask(form, { options, mediation: 'conditional', signal: waiting.signal })
  }
  const offerAgain = () => {
    waiting?.abort()
    offer().catch(() => {})
  }
  const press = async () => {
    waiting?.abort()
    const options = await optionsOf(form).catch(() => ({}))
    if (!options) return giveUp(form)
    await ask(form, { options })
    if (isOffered) offerAgain()
  }
  form.addEventListener('submit', event => {
    event.preventDefault()
    // A second request fails while the browser asks, and its failure would end the page.
    if (isPressed) return
    isPressed = true
    press().finally(() => {
      isPressed = false
    })
  })
  if (isOffered) {
    offerAgain()
    const renew = () => {
      if (document.visibilityState === 'visible' && Date.now() - since > OFFER_MS) offerAgain()
    }
    setInterval(renew, OFFER_MS / 8)
    document.addEventListener('visibilitychange', renew)
    form.hidden = false
  }
}

/** Tells with the password that this device can make a passkey: only then one is offered. */
async function tellDevice(form) {
  if (!(await globalThis.PublicKeyCredential?.isUserVerifyingPlatformAuthenticatorAvailable?.())) return
  form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'can_passkey', value: 'true' }))
}

for (const form of document.querySelectorAll('form[action$="/login.do"]')) tellDevice(form).catch(() => {})
