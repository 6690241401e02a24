// The session frames over HTTP, their script alone, and both in a browser in a page of a client.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { createContext, runInContext } from 'node:vm'
import fc from 'fast-check'
import type { Browser, Page } from 'playwright-core'
import { anyCodePoint } from '../support/code-points.ts'
import { AUTO_REQUEST, authorize, responseOf, signedIn } from '../support/authorize.ts'
import { launchBrowser } from '../support/browser.ts'
import { MODES, userNamed } from '../support/oauth.ts'
import { freePort } from '../support/free-port.ts'
import type { TestServer } from '../support/server.ts'
import { startServer, defaultBootstrap } from '../support/server.ts'

const SCRIPT = readFileSync('assets/session-frame.js', 'utf8')
const ORIGIN = 'https://app.example'
const SALT = 'ab'.repeat(32)

const stateOf = (clientId: string, origin: string, userId: string, salt = SALT): string =>
  `${createHash('sha256').update(`${clientId} ${origin} ${userId} ${salt}`).digest('hex')}.${salt}`

interface Frame {
  readonly sha256: (text: string) => string
  /** The reply of the frame to a message, and its target origin. */
  readonly post: (data: unknown, origin?: string) => { answer: unknown; target: string } | undefined
}

/** Runs the script in a document with these fields and this cookie. */
function frameOf(fields: Readonly<Record<string, string>>, cookie = ''): Frame {
  let handle: ((event: object) => void) | undefined
  const context = createContext({
    document: { cookie, getElementById: (id: string) => (fields[id] === undefined ? null : { value: fields[id] }) },
    window: { addEventListener: (_: string, listener: (event: object) => void) => (handle = listener) },
    unescape,
  })
  runInContext(SCRIPT, context)
  return {
    sha256: text => String(runInContext(`sha256(${JSON.stringify(text)})`, context)),
    post(data, origin = ORIGIN) {
      let sent: { answer: unknown; target: string } | undefined
      const source = { postMessage: (answer: unknown, target: string) => (sent = { answer, target }) }
      handle?.({ data, origin, source })
      return sent
    },
  }
}

const cookieOf = (userId: string): string =>
  `other=1; Current-User=${encodeURIComponent(JSON.stringify({ userId }))}; last=2`

describe('Scripts of the session frames', () => {
  it('computes SHA-256 like a reference implementation', () => {
    const { sha256 } = frameOf({ frame: 'check_session' })
    const wellFormed = fc.string({ unit: anyCodePoint, maxLength: 300 }).filter(text => text.isWellFormed())
    fc.assert(
      fc.property(wellFormed, text => {
        assert.equal(sha256(text), createHash('sha256').update(text).digest('hex'))
      }),
    )
    for (const length of [0, 55, 56, 63, 64, 65, 119, 120, 128]) {
      const text = 'x'.repeat(length)
      assert.equal(sha256(text), createHash('sha256').update(text).digest('hex'), String(length))
    }
  })

  const parent = { clientId: 'app', messageOrigin: ORIGIN }
  const cases: readonly {
    name: string
    frame: string
    cookie?: string
    fields?: Readonly<Record<string, string>>
    data: unknown
    origin?: string
    want: string | undefined
  }[] = [
    { name: 'the same user', frame: 'check_session', data: `app ${stateOf('app', ORIGIN, 'u1')}`, want: 'unchanged' },
    { name: 'another user', frame: 'check_session', data: `app ${stateOf('app', ORIGIN, 'u2')}`, want: 'changed' },
    {
      name: 'an ended session',
      frame: 'check_session',
      cookie: '',
      data: `app ${stateOf('app', ORIGIN, 'u1')}`,
      want: 'changed',
    },
    {
      name: 'no session before and now',
      frame: 'check_session',
      cookie: '',
      data: `app ${stateOf('app', ORIGIN, '')}`,
      want: 'unchanged',
    },
    {
      name: 'a malformed cookie',
      frame: 'check_session',
      cookie: 'Current-User=%7Bbroken',
      data: `app ${stateOf('app', ORIGIN, '')}`,
      want: 'unchanged',
    },
    {
      name: 'the state of another origin',
      frame: 'check_session',
      data: `app ${stateOf('app', 'https://evil.example', 'u1')}`,
      want: 'changed',
    },
    {
      name: 'the state of another client',
      frame: 'check_session',
      data: `other ${stateOf('app', ORIGIN, 'u1')}`,
      want: 'changed',
    },
    { name: 'a missing state', frame: 'check_session', data: 'app', want: 'error' },
    { name: 'an empty state', frame: 'check_session', data: 'app ', want: 'error' },
    // Covers GET /check_session: answer: error
    { name: 'a state without salt', frame: 'check_session', data: `app ${'a'.repeat(64)}`, want: 'error' },
    { name: 'too many values', frame: 'check_session', data: 'app x y', want: 'error' },
    { name: 'a value that is not a string', frame: 'check_session', data: { app: 1 }, want: 'error' },
    { name: 'an empty string', frame: 'check_session', data: '', want: 'error' },

    {
      name: 'the same user',
      frame: 'session_management',
      data: `app ${stateOf('app', ORIGIN, 'u1')}`,
      want: 'unchanged',
    },
    {
      name: 'another user',
      frame: 'session_management',
      data: `app ${stateOf('app', ORIGIN, 'u2')}`,
      want: 'changed',
    },
    {
      name: 'another client',
      frame: 'session_management',
      data: `other ${stateOf('other', ORIGIN, 'u1')}`,
      want: 'error',
    },
    {
      name: 'another origin',
      frame: 'session_management',
      data: `app ${stateOf('app', 'https://evil.example', 'u1')}`,
      origin: 'https://evil.example',
      want: 'error',
    },
    {
      name: 'the initial state of uaa-singular',
      frame: 'session_management',
      data: 'app nostate.nosalt',
      want: 'changed',
    },
    // Covers GET /session_management: answer: error
    { name: 'a malformed state', frame: 'session_management', data: 'app x', want: 'error' },
    { name: 'a state with two dots', frame: 'session_management', data: 'app x.y.z', want: 'error' },
    { name: 'a state with an empty salt', frame: 'session_management', data: 'app x.', want: 'error' },

    { name: 'the same user', frame: 'session', data: 'app u1', want: 'unchanged' },
    { name: 'another user', frame: 'session', data: 'app u2', want: 'changed' },
    { name: 'a new session after none', frame: 'session', data: 'app ~', want: 'changed' },
    { name: 'no session before and now', frame: 'session', cookie: '', data: 'app ~', want: 'unchanged' },
    { name: 'an ended session', frame: 'session', cookie: '', data: 'app u1', want: 'changed' },
    { name: 'another client', frame: 'session', data: 'other u1', want: 'error' },
    // Covers GET /session: answer: error
    { name: 'a malformed message', frame: 'session', data: 'app', want: 'error' },
    { name: 'another origin', frame: 'session', data: 'app u1', origin: 'https://evil.example', want: undefined },
    {
      name: 'a parent with a file: URL',
      frame: 'session',
      fields: { messageOrigin: 'file://' },
      data: 'app u1',
      origin: 'null',
      want: 'unchanged',
    },
  ]
  for (const { name, frame, cookie = cookieOf('u1'), fields, data, origin, want } of cases) {
    it(`answer ${want ?? 'nothing'} in ${frame} to ${name}`, () => {
      const sent = frameOf({ frame, ...parent, ...fields }, cookie).post(data, origin)
      assert.equal(sent?.answer, want)
      if (sent) assert.equal(sent.target, origin === 'null' ? '*' : (origin ?? ORIGIN))
    })
  }

  it('has the identifiers that UAA clients use', () => {
    for (const name of ['function handleMessage(', 'var clientId', 'var messageOrigin'])
      assert.ok(SCRIPT.includes(name))
  })
})

for (const mode of MODES) {
  describe(`Session frames in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({ mode })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    for (const path of ['/session', '/session_management', '/check_session']) {
      it(`allow framing of ${path}, set no cookie, and load one script`, async () => {
        const answer = await server.send(path, { query: { clientId: 'a"b', messageOrigin: 'https://<x>' } })
        assert.equal(answer.status, 200)
        assert.equal(answer.headers['x-frame-options'], undefined)
        assert.doesNotMatch(String(answer.headers['content-security-policy']), /frame-ancestors/)
        assert.match(String(answer.headers['content-security-policy']), /script-src 'self'/)
        assert.deepEqual(answer.cookies, {})
        const [, source = ''] = /<script src="([^"]+)"><\/script>/.exec(answer.text) ?? []
        assert.equal((await server.send(source)).text, SCRIPT)
        assert.match(answer.text, /id="clientId" value="a&quot;b"/)
        assert.match(answer.text, /id="messageOrigin" value="https:\/\/&lt;x&gt;"/)
      })
    }

    for (const path of ['/session', '/session_management']) {
      for (const query of [
        {},
        { clientId: 'app' },
        { messageOrigin: ORIGIN },
        { clientId: '', messageOrigin: ORIGIN },
      ]) {
        // Covers GET /session: clientId; messageOrigin; error: parameter missing
        // Covers GET /session_management: clientId; messageOrigin; error: parameter missing
        it(`require clientId and messageOrigin for ${path}: ${JSON.stringify(query)}`, async () => {
          assert.equal((await server.send(path, { query })).status, 400)
        })
      }
    }

    it('require no parameters for /check_session', async () => {
      assert.equal((await server.send('/check_session')).status, 200)
    })

    it('agree with session_state of an authorization response', async () => {
      const browser = await signedIn(server)
      const silent = { ...AUTO_REQUEST, response_type: 'code', prompt: 'none' }
      const { query } = responseOf(await authorize(browser, silent))
      if (mode === 'uaa') return assert.equal(query['session_state'], undefined)
      const user = await userNamed(server, 'marissa')
      const frame = frameOf({ frame: 'check_session' }, cookieOf(user.id))
      assert.equal(frame.post(`auto ${query['session_state'] ?? ''}`, 'https://auto.example')?.answer, 'unchanged')
      assert.equal(frame.post(`auto ${query['session_state'] ?? ''}`, 'https://evil.example')?.answer, 'changed')
    })
  })
}

describe('Session frames in a browser', () => {
  let server: TestServer
  let browser: Browser
  let page: Page
  let base: string
  const client = createServer((request, response) => {
    response.setHeader('content-type', 'text/html')
    const frame = new URL(request.url ?? '/', 'http://localhost').searchParams.get('frame') ?? ''
    response.end(`<title>Client</title><iframe id="op" src="${frame}"></iframe>`)
  })
  before(async () => {
    const [ownPort, port] = [await freePort(), await freePort()]
    await new Promise<void>(resolve => client.listen(port, '127.0.0.1', resolve))
    base = `http://localhost:${ownPort}`
    const site = `http://localhost:${port}`
    const clients = defaultBootstrap.clients.map(each =>
      each.client_id === 'auto' ? { ...each, redirect_uri: [`${site}/cb`] } : each,
    )
    server = await startServer({ config: { base_url: base, bootstrap: { ...defaultBootstrap, clients } } })
    await server.app.http.listen({ host: '127.0.0.1', port: Number(new URL(base).port) })
    browser = await launchBrowser()
    page = await browser.newPage()
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'auto',
      redirect_uri: `${site}/cb`,
      state: 's',
    })
    await page.goto(`${base}/oauth/authorize?${query.toString()}`)
    await page.fill('[name=username]', 'marissa')
    await page.fill('[name=password]', 'koala')
    await page.click('[type=submit]')
    await page.waitForURL(/\/cb\?/)
  })
  after(async () => {
    await browser.close()
    client.closeAllConnections()
    client.close()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  /** Loads a frame, and sends it one message. */
  const ask = async (path: string, message: string): Promise<unknown> => {
    await page.goto(`${new URL(page.url()).origin}/frame?frame=${encodeURIComponent(base + path)}`)
    await page.frameLocator('#op').locator('script').waitFor({ state: 'attached' })
    return page.evaluate(`new Promise(resolve => {
      window.addEventListener('message', ({ data }) => resolve(data), { once: true })
      document.getElementById('op').contentWindow.postMessage(${JSON.stringify(message)}, ${JSON.stringify(base)})
    })`)
  }

  // Covers GET /session: answer: unchanged; changed
  // Covers GET /session_management: answer: unchanged; changed
  // Covers GET /check_session: answer: unchanged; changed
  // Covers compatibility: logout and sessions: L6 frames
  it('report unchanged during the session, and changed after sign-out', async () => {
    const state = new URL(page.url()).searchParams.get('session_state') ?? ''
    const parent = new URLSearchParams({ clientId: 'auto', messageOrigin: new URL(page.url()).origin }).toString()
    const { id } = await userNamed(server, 'marissa')
    assert.equal(await ask('/check_session', `auto ${state}`), 'unchanged')
    assert.equal(await ask(`/session_management?${parent}`, `auto ${state}`), 'unchanged')
    assert.equal(await ask(`/session?${parent}`, `auto ${id}`), 'unchanged')
    const { origin } = new URL(page.url())
    await page.goto(`${base}/logout.do?redirect=x`)
    await page.goto(`${origin}/`)
    assert.equal(await ask('/check_session', `auto ${state}`), 'changed')
    assert.equal(await ask(`/session_management?${parent}`, `auto ${state}`), 'changed')
    assert.equal(await ask(`/session?${parent}`, `auto ${id}`), 'changed')
  })
})
