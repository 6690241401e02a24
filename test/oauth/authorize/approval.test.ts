import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it, mock } from 'node:test'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { APP_REQUEST, authorize, authorizeBootstrap, requestOf, responseOf, signedIn } from '../../support/authorize.ts'
import { createTestClock } from '../../support/clock.ts'
import { freshDatabase } from '../../support/databases.ts'
import { png } from '../../pages/states.ts'
import { checkboxes, hiddenFields, unescaped } from '../../support/forms.ts'
import { MODES, changeClient, changeUser, clientNamed, userNamed } from '../../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

/** A request of a client without autoapprove, for all its scopes. */
const ASKS = requestOf('asks')
const MONTH = 30 * 86_400

/** Opens the approval page. */
async function openPage(browser: Browser, query: Readonly<Record<string, string>> = ASKS): Promise<TestAnswer> {
  const page = await authorize(browser, query)
  assert.equal(page.status, 200, page.text)
  assert.match(page.text, /<form id="application_authorization" action="\/oauth\/authorize" method="post"/)
  return page
}

/** Posts the form of the page like a browser, with the checkboxes of these scopes ticked; by default all. */
function answer(
  browser: Browser,
  page: TestAnswer,
  {
    ticked,
    allow = true,
    more = {},
  }: { ticked?: readonly string[]; allow?: boolean; more?: Readonly<Record<string, string>> } = {},
): Promise<TestAnswer> {
  const boxes = checkboxes(page.text).filter(box =>
    ticked ? ticked.includes(box.value.slice('scope.'.length)) : box.checked,
  )
  const form = {
    ...hiddenFields(page.text),
    ...Object.fromEntries(boxes.map(({ name, value }) => [name, value])),
    user_oauth_approval: String(allow),
    ...more,
  }
  return browser.send('/oauth/authorize', { form })
}

const scopesOn = (page: TestAnswer): readonly string[] =>
  checkboxes(page.text).map(box => box.value.slice('scope.'.length))

for (const mode of MODES) {
  const isStandard = mode === 'standard'

  describe(`Approval page in ${mode}`, () => {
    let server: TestServer
    let browser: Browser
    // A server per test, because approvals are stored for a month.
    const fresh = async (): Promise<void> => {
      server = await startServer({ mode, config: { bootstrap: authorizeBootstrap } })
      browser = await signedIn(server, 'sam', 'dingo')
    }
    const inFresh = (name: string, test: () => Promise<void>): void => {
      it(name, async () => {
        await fresh()
        try {
          await test()
          assert.deepEqual(server.faults, [])
        } finally {
          await server.stop()
        }
      })
    }
    const stored = async (userName = 'sam', clientId = 'asks') => {
      const user = await userNamed(server, userName)
      const list = await server.store.approvals.list('svc', user.id, clientId, server.clock.now())
      return Object.fromEntries(list.map(({ scope, status }) => [scope, status]))
    }
    const scopeOfCode = async (from: TestAnswer, client = 'asks') => {
      const { code = '' } = responseOf(from).query
      const form = { grant_type: 'authorization_code', code, redirect_uri: `https://${client}.example/cb` }
      const tokens = await server.token(form, { basic: [client, `${client}-secret`] })
      return tokens.status === 200 ? String(tokens.json()['scope']).split(' ').toSorted() : tokens.json()['error']
    }

    const headingFor = (client: string): RegExp =>
      mode === 'uaa'
        ? new RegExp(`<h1>Application Authorization</h1>[^]*<h2><bdi>${client}</bdi></h2>`)
        : new RegExp(`<h1><bdi>${client}</bdi> asks for access</h1>`)

    // Covers GET /oauth/authorize approval page: deny button; authorize button; form_redirect_uri; X-<Service>-Csrf
    inFresh('shows client, redirect host, user, scopes and buttons', async () => {
      const { text } = await openPage(browser)
      assert.match(text, headingFor('asks'))
      assert.match(text, /You then return to <strong><bdi>asks\.example<\/bdi><\/strong>/)
      assert.match(text, /your account <strong><bdi>sam<\/bdi><\/strong>/)
      assert.match(text, /<button[^>]* id="deny" name="user_oauth_approval" value="false">/)
      assert.match(text, /<button[^>]* id="authorize" name="user_oauth_approval" value="true" data-deliberate>/)
      const fields = hiddenFields(text)
      assert.deepEqual(Object.keys(fields), ['X-Svc-Csrf', 'form_redirect_uri'])
      assert.equal(fields['X-Svc-Csrf'], browser.csrf)
      assert.equal(
        fields['form_redirect_uri'],
        `${server.baseUrl}/oauth/authorize?${new URLSearchParams(ASKS).toString()}`,
      )
    })

    // Covers GET /oauth/authorize approval page: client display name
    inFresh('shows the display name of the client', async () => {
      const page = await openPage(browser, { ...APP_REQUEST, scope: 'openid' })
      assert.match(page.text, headingFor('The application'))
    })

    inFresh('shows the client icon if it is small enough, otherwise the initial', async () => {
      const initial = /<span class="initial" aria-hidden="true">T<\/span>\n?<h1>/
      assert.match((await openPage(browser, { ...APP_REQUEST, scope: 'openid' })).text, initial)
      const icon = png(4, 4, [1, 2, 3])
      for (const [appIcon, want] of [
        [icon, new RegExp(`<img class="logo" src="data:image/png;base64,${icon.replace(/[+/]/g, '\\$&')}"`)],
        ['A'.repeat(20_000), initial],
      ] as const) {
        const { clients } = server.store
        const { revision = 0 } = (await clients.findForChange('svc', 'app')) ?? {}
        const description = { showOnHomePage: false, appIcon }
        await clients.apply('svc', [{ kind: 'describe', clientId: 'app', description, revision }])
        assert.match((await openPage(browser, { ...APP_REQUEST, scope: 'openid' })).text, want)
      }
    })

    // Covers GET /oauth/authorize approval page: scope.N checkboxes; order of scopes; group description as text
    inFresh('orders scopes by importance, with descriptions of groups or built-in ones', async () => {
      const { text } = await openPage(browser)
      assert.deepEqual(
        checkboxes(text).map(({ name, value, checked, state }) => `${name} ${value} ${state} ${checked}`),
        ['openid', 'password.write', 'cloud.read', 'cloud.write', 'profile'].map(
          (scope, index) => `scope.${index} scope.${scope} undecided true`,
        ),
      )
      assert.match(
        text,
        /<label for="scope\.2"(?: dir="auto">Read the cloud|><bdi>Read the cloud<\/bdi> )<small><code><bdi>cloud\.read<\/bdi><\/code><\/small><\/label>/,
      )
      assert.match(text, /<label for="scope\.4"[^>]*>(?:<bdi>)?See your name and other details of your profile/)
    })

    // Covers GET /oauth/authorize: rule: scope is client, groups and request
    inFresh('lists only scopes that are requested and that the user has', async () => {
      assert.deepEqual(scopesOn(await openPage(browser, { ...ASKS, scope: 'cloud.read openid' })), [
        'openid',
        'cloud.read',
      ])
      const other = await signedIn(server)
      assert.deepEqual(scopesOn(await openPage(other)), ['openid', 'password.write', 'cloud.read', 'profile'])
    })

    // Covers GET /oauth/authorize: rule: autoapprove for listed scopes
    inFresh('omits auto-approved scopes', async () => {
      assert.deepEqual(scopesOn(await openPage(browser, requestOf('partly'))), ['cloud.read'])
      const done = await answer(browser, await openPage(browser, requestOf('partly')))
      assert.deepEqual(await scopeOfCode(done, 'partly'), ['cloud.read', 'openid'])
      assert.deepEqual(await stored('sam', 'partly'), { 'cloud.read': 'APPROVED' })
    })

    // Covers GET /oauth/authorize approval page: redirect URI without query; JSON `auth_request`; JSON scopes
    // Covers GET /oauth/authorize approval page: JSON `approved_scopes`; JSON `denied_scopes`; JSON `undecided_scopes`
    // Covers GET /oauth/authorize approval page: JSON options; JSON message; JSON `original_uri`
    // Covers GET /oauth/authorize approval page: JSON `client_display_name`; JSON `redirect_uri`
    inFresh('is served as JSON with all decisions, and accepts the answer of such a client', async () => {
      const redirectUri = 'https://asks.example/cb?tenant=1'
      await changeClient(server, 'asks', { name: 'The asker', redirectUris: [redirectUri] })
      const asked = { ...ASKS, redirect_uri: redirectUri }
      const page = await openPage(browser, { ...asked, scope: 'openid cloud.read' })
      assert.doesNotMatch(page.text, /<strong><bdi>[^<]*tenant/)
      await answer(browser, page, { ticked: ['openid'] })
      const headers = { accept: 'application/json' }
      const question = { ...asked, scope: 'openid cloud.read cloud.write' }
      const model = await authorize(browser, question, { headers })
      assert.equal(model.status, 200)
      assert.match(String(model.headers['content-type']), /^application\/json/)
      const openid = { code: 'scope.openid', text: 'Know who you are' }
      const read = { code: 'scope.cloud.read', text: 'Read the cloud' }
      const write = { code: 'scope.cloud.write', text: 'Change the cloud' }
      const option = (value: string) => ({
        location: `${server.baseUrl}/oauth/authorize`,
        path: '/oauth/authorize',
        key: 'user_oauth_approval',
        value,
      })
      const originalUri = `${server.baseUrl}/oauth/authorize?${new URLSearchParams(question).toString()}`
      const { auth_request: request, ...reported } = model.json()
      assert.deepEqual(reported, {
        message: 'To confirm or deny access POST to the following locations with the parameters requested.',
        ...(mode === 'standard' && { client_id: 'asks', original_uri: originalUri }),
        client_display_name: 'The asker',
        redirect_uri: 'https://asks.example/cb',
        scopes: [write, openid, read],
        undecided_scopes: [write],
        approved_scopes: [openid],
        denied_scopes: [read],
        options: { confirm: option('true'), deny: option('false') },
      })
      const { clientId, scope } = { clientId: undefined, ...(request as { clientId?: string; scope: string[] }) }
      assert.equal(clientId, mode === 'standard' ? undefined : 'asks')
      assert.deepEqual(scope.toSorted(), ['cloud.read', 'cloud.write', 'openid'])
      const form = { user_oauth_approval: 'true', 'scope.0': 'scope.cloud.write', 'X-Svc-Csrf': browser.csrf }
      const done = await browser.send('/oauth/authorize', { form, headers })
      assert.ok(done.location().href.startsWith(`${redirectUri}&code=`))
      assert.deepEqual(await stored(), { openid: 'DENIED', 'cloud.read': 'DENIED', 'cloud.write': 'APPROVED' })
    })

    // Covers POST /oauth/authorize approval: user_oauth_approval=true
    // Covers audit trail: ApprovalModifiedEvent
    inFresh('issues a code for the approved scopes, and does not ask again', async () => {
      const done = await answer(browser, await openPage(browser))
      assert.equal(done.status, 302)
      assert.ok(done.location().href.startsWith('https://asks.example/cb?code='))
      assert.equal(responseOf(done).query['state'], 's1')
      assert.deepEqual(await scopeOfCode(done), ['cloud.read', 'cloud.write', 'openid', 'password.write', 'profile'])
      assert.equal((await authorize(browser, ASKS)).status, 302)
      assert.equal((await authorize(browser, { ...ASKS, prompt: 'none' })).location().searchParams.has('code'), true)
      const { events } = server
      assert.ok(events.some(({ type, clientId }) => type === 'ApprovalModifiedEvent' && clientId === 'asks'))
    })

    // Covers POST /oauth/authorize approval: scope.N
    inFresh('grants only the ticked scopes, now and later', async () => {
      const done = await answer(browser, await openPage(browser), { ticked: ['openid', 'cloud.read'] })
      assert.deepEqual(await scopeOfCode(done), ['cloud.read', 'openid'])
      assert.deepEqual(await stored(), {
        openid: 'APPROVED',
        'cloud.read': 'APPROVED',
        'cloud.write': 'DENIED',
        'password.write': 'DENIED',
        profile: 'DENIED',
      })
      assert.deepEqual(await scopeOfCode(await authorize(browser, ASKS)), ['cloud.read', 'openid'])
    })

    // Covers GET /oauth/authorize approval page: undecided, approved and denied lists
    inFresh('shows earlier decisions when new scopes are requested', async () => {
      await answer(browser, await openPage(browser, { ...ASKS, scope: 'openid cloud.read' }), { ticked: ['openid'] })
      const { text } = await openPage(browser, { ...ASKS, scope: 'openid cloud.read cloud.write' })
      assert.deepEqual(
        checkboxes(text).map(({ value, checked, state }) => `${value} ${state} ${checked}`),
        ['scope.cloud.write undecided true', 'scope.openid approved true', 'scope.cloud.read denied false'],
      )
    })

    // Covers POST /oauth/authorize approval: rule: true without scope.N denies the rest
    inFresh('returns access_denied if nothing is ticked; in uaa the code exchange fails', async () => {
      const done = await answer(browser, await openPage(browser), { ticked: [] })
      assert.equal(done.status, 302)
      assert.deepEqual(new Set(Object.values(await stored())), new Set(['DENIED']))
      if (isStandard) {
        assert.equal(responseOf(done).query['error'], 'access_denied')
        assert.equal(responseOf(done).query['error_description'], 'User denied access')
      } else {
        assert.equal(await scopeOfCode(done), 'invalid_token')
      }
    })

    inFresh('returns no token for any response type if nothing is ticked', async () => {
      const grants = ['authorization_code', 'implicit']
      await changeClient(server, 'asks', { authorizedGrantTypes: grants })
      for (const type of ['token', 'id_token', 'code token', 'code id_token']) {
        const asked = { ...ASKS, response_type: type, scope: 'openid' }
        const done = await answer(browser, await openPage(browser, asked), { ticked: [] })
        const { query, fragment } = responseOf(done)
        assert.deepEqual(query, {})
        assert.equal(fragment['error'], isStandard ? 'access_denied' : 'invalid_token')
        assert.equal(fragment['error_description'], isStandard ? 'User denied access' : 'No scopes were granted')
        assert.equal(fragment['state'], 's1')
        for (const secret of ['code', 'access_token', 'id_token']) assert.equal(fragment[secret], undefined)
        server.clock.advance(MONTH)
        browser = await signedIn(server, 'sam', 'dingo')
      }
    })

    inFresh('grants auto-approved scopes even if nothing is ticked', async () => {
      const done = await answer(browser, await openPage(browser, requestOf('partly')), { ticked: [] })
      assert.deepEqual(await scopeOfCode(done, 'partly'), ['openid'])
    })

    // Covers POST /oauth/authorize approval: user_oauth_approval=false
    inFresh('returns access_denied on denial, stores nothing, and asks again', async () => {
      const done = await answer(browser, await openPage(browser), { allow: false })
      assert.equal(done.status, 302)
      const { query } = responseOf(done)
      assert.deepEqual(
        Object.keys(query),
        isStandard
          ? ['error', 'error_description', 'state', 'session_state', 'iss']
          : ['error', 'error_description', 'state'],
      )
      assert.equal(query['error'], 'access_denied')
      assert.equal(query['error_description'], 'User denied access')
      assert.deepEqual(await stored(), {})
      await openPage(browser)
    })

    inFresh('keeps earlier approvals on denial', async () => {
      await answer(browser, await openPage(browser, { ...ASKS, scope: 'openid' }))
      await answer(browser, await openPage(browser), { allow: false })
      assert.deepEqual(await stored(), { openid: 'APPROVED' })
    })

    inFresh('leaves a scope undecided that the user could only be granted after the page was shown', async () => {
      const other = await signedIn(server)
      const page = await openPage(other)
      const group = await server.store.groups.findByName('svc', 'cloud.write')
      const { id: memberId } = await userNamed(server, 'marissa')
      const member = { groupId: group?.id ?? '', memberId, memberType: 'USER', origin: 'svc' } as const
      await server.store.groups.addMember('svc', member)
      const done = await answer(other, page)
      const shown = ['cloud.read', 'openid', 'password.write', 'profile']
      assert.deepEqual(await scopeOfCode(done), shown)
      assert.deepEqual(Object.keys(await stored('marissa')).toSorted(), shown)
      const [first] = checkboxes((await openPage(other)).text)
      assert.deepEqual([first?.value, first?.state], ['scope.cloud.write', 'undecided'])
    })

    inFresh('is answered once, also when it is posted twice at the same time', async () => {
      const page = await openPage(browser)
      const statuses = (await Promise.all([answer(browser, page), answer(browser, page)])).map(({ status }) => status)
      assert.deepEqual(new Set(statuses), new Set([302, 400]))
    })

    for (const [name, more] of [
      // Covers POST /oauth/authorize approval: error: scope outside the request
      ['outside the request', { 'scope.7': 'scope.cloud.staff' }],
      ['outside the scopes of the client', { 'scope.0': 'scope.svc.admin' }],
      ['without its prefix', { 'scope.0': 'openid' }],
    ] as const) {
      inFresh(`refuses a ticked scope ${name}`, async () => {
        const done = await answer(browser, await openPage(browser), { more })
        assert.equal(done.status, 302)
        assert.equal(responseOf(done).query['error'], 'invalid_scope')
        assert.equal(
          responseOf(done).query['error_description'],
          'The requested scopes are invalid. Please use valid scope names in the request.',
        )
        assert.deepEqual(await stored(), {})
      })
    }

    inFresh('reports an invalid scope in the fragment for response_type=token, in uaa in the query', async () => {
      await changeClient(server, 'asks', { authorizedGrantTypes: ['implicit'] })
      const page = await openPage(browser, { ...ASKS, response_type: 'token' })
      const done = await answer(browser, page, { more: { 'scope.0': 'scope.svc.admin' } })
      const { query, fragment } = responseOf(done)
      const [reported, empty] = isStandard ? [fragment, query] : [query, fragment]
      assert.deepEqual([reported['error'], reported['state'], empty], ['invalid_scope', 's1', {}])
      assert.deepEqual(await stored(), {})
    })

    inFresh('accepts an answer once', async () => {
      const page = await openPage(browser)
      await answer(browser, page)
      const again = await answer(browser, page)
      assert.equal(again.status, 400)
      assert.match(again.text, /Cannot approve uninitialized authorization request\./)
    })

    // Covers POST /oauth/authorize approval: error: no request in the session
    inFresh('refuses an answer without a pending request', async () => {
      const done = await browser.send('/oauth/authorize', {
        form: { ...ASKS, user_oauth_approval: 'true', 'scope.0': 'scope.openid', 'X-Svc-Csrf': browser.csrf },
      })
      assert.equal(done.status, 400)
      assert.match(done.text, /Cannot approve uninitialized authorization request\./)
      assert.deepEqual(await stored(), {})
    })

    // Covers POST /oauth/authorize approval: error: stored request altered
    inFresh('refuses an answer to the page of another tab', async () => {
      const first = await openPage(browser, { ...ASKS, state: 'tab-1' })
      await openPage(browser, { ...ASKS, state: 'tab-2' })
      const done = await answer(browser, first)
      assert.equal(done.status, 400)
      assert.match(done.text, /Changes were detected from the original authorization request\./)
      assert.deepEqual(await stored(), {})
    })

    inFresh('uses only the decision of the answer', async () => {
      const done = await answer(browser, await openPage(browser, { ...ASKS, scope: 'openid' }), {
        more: {
          client_id: 'app',
          redirect_uri: 'https://evil.example/',
          scope: 'cloud.write',
          state: 'forged',
          response_type: 'token',
        },
      })
      assert.ok(done.location().href.startsWith('https://asks.example/cb?code='))
      assert.equal(responseOf(done).query['state'], 's1')
      assert.deepEqual(await scopeOfCode(done), ['openid'])
    })

    for (const [name, more] of [
      // Covers POST /oauth/authorize approval: error: CSRF missing or wrong
      ['without a CSRF token', { 'X-Svc-Csrf': '' }],
      // Covers POST /oauth/authorize approval: X-<Service>-Csrf
      ['with a wrong CSRF token', { 'X-Svc-Csrf': 'A'.repeat(22) }],
    ] as const) {
      inFresh(`refuses an answer ${name}`, async () => {
        const page = await openPage(browser)
        const forged = await answer(browser, page, { more })
        assert.equal(forged.status, 403)
        assert.equal(forged.headers['location'], undefined)
        assert.deepEqual(await stored(), {})
        assert.equal((await answer(browser, page)).status, 302, 'the request is still pending')
      })
    }

    inFresh('refuses a cross-site answer even with the correct CSRF token', async () => {
      const page = await openPage(browser)
      const fields = { ...hiddenFields(page.text), user_oauth_approval: 'true' }
      for (const headers of [
        { origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
      ]) {
        assert.equal((await browser.send('/oauth/authorize', { form: fields, headers })).status, 403)
      }
      assert.deepEqual(await stored(), {})
    })

    // Covers POST /oauth/authorize approval: header X-CSRF-TOKEN
    inFresh('accepts the CSRF token in X-CSRF-TOKEN', async () => {
      const fields = hiddenFields((await openPage(browser)).text)
      const done = await browser.send('/oauth/authorize', {
        form: {
          form_redirect_uri: fields['form_redirect_uri'] ?? '',
          user_oauth_approval: 'true',
          'scope.0': 'scope.openid',
        },
        headers: { 'x-csrf-token': fields['X-Svc-Csrf'] ?? '' },
      })
      assert.deepEqual(await scopeOfCode(done), ['openid'])
    })

    inFresh('answers 403 in JSON to a JSON client without a CSRF token', async () => {
      const done = await browser.send('/oauth/authorize', {
        form: { user_oauth_approval: 'true' },
        headers: { accept: 'application/json' },
      })
      assert.equal(done.status, 403)
      assert.deepEqual(Object.keys(done.json()), ['error'])
    })

    inFresh('is shown again after session expiry and sign-in', async () => {
      const page = await openPage(browser)
      server.clock.advance(1801)
      const late = await answer(browser, page)
      assert.equal(late.status, 302)
      assert.equal(late.location().href, `${server.baseUrl}/login`)
      const signed = await browser.signIn('sam', 'dingo')
      assert.equal(signed.location().href, hiddenFields(page.text)['form_redirect_uri'])
      assert.deepEqual(await stored(), {})
      assert.equal((await answer(browser, await openPage(browser))).status, 302)
    })

    it('can be answered again after a fault', async () => {
      await fresh()
      const page = await openPage(browser)
      const failing = mock.method(server.store.codes, 'insert', () => Promise.reject(new StoreUnavailable('gone')))
      assert.equal((await answer(browser, page)).status, 503)
      failing.mock.restore()
      assert.ok(responseOf(await answer(browser, page)).query['code'])
      assert.equal((await answer(browser, page)).status, 400, 'only once')
      await server.stop()
    })

    inFresh('refuses the answer of another user', async () => {
      const page = await openPage(browser)
      await browser.send('/login.do', { form: { username: 'joel', password: 'wombat', 'X-Svc-Csrf': browser.csrf } })
      const done = await answer(browser, page, { more: { 'X-Svc-Csrf': browser.csrf } })
      assert.equal(done.status, 400)
      assert.deepEqual(await stored('joel'), {})
    })

    inFresh('keeps approvals per user and client', async () => {
      await answer(browser, await openPage(browser, { ...ASKS, scope: 'openid' }))
      assert.equal((await authorize(browser, { ...ASKS, scope: 'openid' })).status, 302)
      await openPage(await signedIn(server), { ...ASKS, scope: 'openid' })
      await openPage(browser, { ...APP_REQUEST, scope: 'openid' })
    })

    // Covers GET /oauth/authorize: rule: unexpired approvals need no page
    // Covers POST /oauth/authorize approval: rule: approvals live one month
    inFresh('is shown again after a month', async () => {
      const asked = { ...ASKS, scope: 'openid cloud.read' }
      await answer(browser, await openPage(browser, asked), { ticked: ['openid'] })
      server.clock.advance(MONTH - 60)
      browser = await signedIn(server, 'sam', 'dingo')
      assert.deepEqual(await scopeOfCode(await authorize(browser, asked)), ['openid'])
      server.clock.advance(60)
      const page = await openPage(browser, asked)
      assert.deepEqual(
        checkboxes(page.text).map(box => box.state),
        ['undecided', 'undecided'],
      )
    })

    inFresh('returns invalid_scope if the client lost a scope while the page was open', async () => {
      const page = await openPage(browser, { ...ASKS, scope: 'openid cloud.read' })
      await changeClient(server, 'asks', { scope: ['openid'] })
      const done = await answer(browser, page)
      assert.equal(responseOf(done).query['error'], 'invalid_scope')
      assert.deepEqual(await stored(), {})
    })

    inFresh('does not redirect if the client lost the redirect URI while the page was open', async () => {
      const page = await openPage(browser)
      const before = await clientNamed(server, 'asks')
      await changeClient(server, 'asks', { ...before, redirectUris: ['https://asks.example/new'] })
      for (const allow of [true, false]) {
        const done = await answer(browser, page, { allow })
        assert.equal(done.status, 400)
        assert.equal(done.headers['location'], undefined)
      }
      assert.deepEqual(await stored(), {})
    })

    inFresh('requires sign-in if the user was deactivated while the page was open', async () => {
      const page = await openPage(browser)
      await changeUser(server, 'sam', { active: false })
      const done = await answer(browser, page)
      assert.equal(done.location().href, `${server.baseUrl}/login`)
      assert.deepEqual(await stored(), {})
    })
  })
}

describe('Allowed groups of a zone', () => {
  // Covers GET /oauth/authorize: rule: zone allowed groups
  it('limit requested scopes to them and the default groups', async () => {
    const zone_config = { userConfig: { defaultGroups: ['openid'], allowedGroups: ['cloud.read'] } }
    const server = await startServer({ config: { bootstrap: authorizeBootstrap, zone_config } })
    try {
      const browser = await signedIn(server, 'sam', 'dingo')
      assert.deepEqual(scopesOn(await openPage(browser)), ['openid', 'cloud.read'])
      const refused = await authorize(browser, { ...ASKS, scope: 'cloud.write' })
      assert.equal(responseOf(refused).query['error'], 'invalid_scope')
    } finally {
      await server.stop()
    }
  })
})

describe('prompt=consent in standard', () => {
  let server: TestServer
  before(async () => {
    server = await startServer({ config: { bootstrap: authorizeBootstrap } })
  })
  after(() => server.stop())
  const asked = { ...requestOf('auto'), prompt: 'consent', scope: 'openid cloud.read' }

  // Covers GET /oauth/authorize: prompt=consent
  it('shows the approval page despite autoapprove, and respects the decision', async () => {
    const browser = await signedIn(server)
    const done = await answer(browser, await openPage(browser, asked), { ticked: ['openid'] })
    const form = {
      grant_type: 'authorization_code',
      code: responseOf(done).query['code'] ?? '',
      redirect_uri: asked.redirect_uri,
    }
    assert.equal((await server.token(form, { basic: ['auto', 'auto-secret'] })).json()['scope'], 'openid')
    await openPage(browser, asked)
  })

  it('is shown after sign-in for prompt=login consent', async () => {
    const browser = await signedIn(server)
    await authorize(browser, { ...asked, prompt: 'login consent' })
    const signed = await browser.signIn('marissa', 'koala')
    const page = await browser.send(signed.location().pathname + signed.location().search)
    assert.match(page.text, /application_authorization/)
    assert.match(unescaped(page.text), /&prompt=login%20consent&asked_at=\d+"/)
  })
})

describe('Client deleted while its approval page is open', () => {
  it('receives an error page without a redirect', async () => {
    const database = await freshDatabase('sqlite')
    const clock = createTestClock()
    const before = await startServer({ database: database.url, clock, config: { bootstrap: authorizeBootstrap } })
    const browser = await signedIn(before, 'sam', 'dingo')
    const page = await openPage(browser)
    await before.stop()
    const file = new DatabaseSync(database.url.slice('sqlite:'.length))
    file.exec(`delete from clients where client_id = 'asks'`)
    file.close()
    const clients = authorizeBootstrap.clients.filter(client => client.client_id !== 'asks')
    const server = await startServer({
      database: database.url,
      clock,
      config: { bootstrap: { ...authorizeBootstrap, clients } },
    })
    try {
      const again = server.browser()
      for (const [name, value] of browser.cookies) again.cookies.set(name, value)
      for (const allow of [true, false]) {
        const done = await answer(again, page, { allow })
        assert.equal(done.status, 400)
        assert.equal(done.headers['location'], undefined)
        if (allow) assert.match(done.text, /No client with requested id: asks/)
      }
      assert.deepEqual(server.faults, [])
    } finally {
      await server.stop()
      await database.drop()
    }
  })
})
