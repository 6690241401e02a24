// What users and programs do, one function each: every grant, introspection, revocation, changes by SCIM, logouts. Each is tried
// with whatever the ledger has, notes what was acknowledged, and throws for what must not be.
import { createHash, randomBytes } from 'node:crypto'
import { hiddenFields } from '../support/forms.ts'
import type { Incoming, Visitor } from '../support/visitor.ts'
import { base64UrlOf } from '../support/saml/saml-xml.ts'
import { basicOf, corp, GRANTS, PASSWORD, PEOPLE, REDIRECT_URI } from './accounts.ts'
import { Broken, Unavailable, unexpected, Violation } from './client.ts'
import type { RoundRobin } from './client.ts'
import type { Ledger, Person } from './ledger.ts'

/** Performs one operation; undefined if it had no record to use. */
export type Operation = () => Promise<unknown>

/** The operations by name, most of them several times as often as others. */
export interface Operations {
  readonly all: Readonly<Record<string, Operation>>
  /** Names in order, taken cyclically. */
  readonly order: readonly string[]
}

/** Of 40 operations. */
const SHARES: Readonly<Record<string, number>> = {
  'sign-in': 4,
  logout: 3,
  authorization_code: 5,
  refresh_token: 5,
  client_credentials: 2,
  'opaque token': 4,
  introspection: 4,
  revocation: 2,
  password: 2,
  'jwt-bearer': 1,
  'saml2-bearer': 1,
  'token exchange': 1,
  user_token: 1,
  device_code: 1,
  approval: 1,
  'SCIM create': 1,
  'SCIM patch': 2,
  'SCIM read': 1,
  'SCIM delete': 1,
}

const SCIM = '/scim/v2/Users'
const SCIM_PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const SCIM_USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** Prepares the operations, for the base URL of all nodes; nothing is sent. */
export function createOperations(nodes: RoundRobin, ledger: Ledger, baseUrl: string): Operations {
  const { people, refreshTokens, opaqueTokens, sessions, doubtfulNames } = ledger
  let turns = 0
  let named = 0
  const run = randomBytes(3).toString('hex')
  const resident = (): string => {
    turns += 1
    return PEOPLE[turns % PEOPLE.length] ?? ''
  }

  const token = (client: string, form: Readonly<Record<string, string>>): Promise<Incoming> =>
    nodes.ask('/oauth/token', { form, basic: basicOf(client) })

  async function tokens(client: string, form: Readonly<Record<string, string>>): Promise<Record<string, unknown>> {
    const answer = await token(client, form)
    if (answer.status !== 200) throw unexpected(`${client} ${form['grant_type']}`, answer)
    return answer.json()
  }

  const keepRefresh = (answer: Record<string, unknown>): void =>
    void refreshTokens.kept.add(String(answer['refresh_token']))

  async function signIn(userName: string): Promise<Visitor> {
    const visitor = nodes.visitor()
    await visitor.signIn(userName, PASSWORD).catch((error: unknown) => {
      if (error instanceof Broken || error instanceof Unavailable) throw error
      throw new Violation(`sign-in of ${userName}: ${String(error)}`)
    })
    return visitor
  }

  /** A browser with the cookies of a session. */
  function browserOf(cookies: ReadonlyMap<string, string>): Visitor {
    const visitor = nodes.visitor()
    for (const [name, value] of cookies) visitor.cookies.set(name, value)
    return visitor
  }

  async function redeem(client: string, location: URL | undefined, verifier: string): Promise<void> {
    const code = location?.searchParams.get('code')
    if (!code) throw new Violation(`${client}: no code in ${location?.href ?? 'a page'}`)
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: verifier }
    keepRefresh(await tokens(client, form))
  }

  const newVerifier = (): string => randomBytes(32).toString('base64url')

  let bearer: { readonly value: string; readonly until: number } | undefined
  async function directory(method: string, path: string, json?: unknown): Promise<Incoming> {
    if (bearer === undefined || bearer.until < performance.now()) {
      const answer = await tokens('directory', { grant_type: 'client_credentials' })
      bearer = { value: String(answer['access_token']), until: performance.now() + 60_000 }
    }
    return nodes.ask(path, { method, bearer: bearer.value, ...(json !== undefined && { json }) })
  }

  /** A user whose record no other operation uses concurrently. */
  async function withPerson(
    work: (person: Person) => Promise<unknown>,
    fits?: (person: Person) => boolean,
  ): Promise<unknown> {
    for (const person of people.kept) {
      if (person.isBusy || fits?.(person) === false) continue
      person.isBusy = true
      try {
        return await work(person)
      } finally {
        person.isBusy = false
        if (people.kept.delete(person)) people.kept.add(person) // so that another one's turn comes
      }
    }
    return undefined
  }

  const all: Record<string, Operation> = {
    async 'sign-in'() {
      sessions.kept.add((await signIn(resident())).cookies)
      return true
    },
    async logout() {
      const session = sessions.take()
      if (session === undefined) return undefined
      return sessions.end(session, async () => {
        const visitor = browserOf(session)
        const page = await visitor.send('/')
        if (page.status !== 200) throw unexpected('the page of a session', page)
        const answer = await visitor.send('/logout.do', { form: hiddenFields(page.text) })
        if (answer.status !== 302) throw unexpected('logout', answer)
        if (await browserOf(session).isSignedIn()) throw new Violation('a session outlived its logout')
        return true
      })
    },
    async authorization_code() {
      const [session] = sessions.kept
      const cookies = session ?? (await signIn(resident())).cookies
      if (session !== undefined && sessions.kept.delete(session)) sessions.kept.add(session)
      const verifier = newVerifier()
      const location = await browserOf(cookies).authorize(authorization('app', verifier))
      const isSignedOut = session !== undefined && !sessions.kept.has(session) // while this was under way
      if (isSignedOut && location?.searchParams.has('code') !== true) return undefined
      await redeem('app', location, verifier)
      return true
    },
    async refresh_token() {
      const value = refreshTokens.take()
      if (value === undefined) return undefined
      return refreshTokens.end(value, async () => {
        // Whichever client it was issued to.
        const answer = await token('app', { grant_type: 'refresh_token', refresh_token: value })
        if (answer.status !== 200) throw unexpected('refresh', answer)
        keepRefresh(answer.json())
        return true
      })
    },
    client_credentials: () => tokens('service', { grant_type: 'client_credentials' }),
    async 'opaque token'() {
      const answer = await tokens('service', { grant_type: 'client_credentials', token_format: 'opaque' })
      return opaqueTokens.kept.add(String(answer['access_token']))
    },
    async introspection() {
      const [value] = opaqueTokens.kept
      if (value === undefined) return undefined
      opaqueTokens.kept.delete(value)
      opaqueTokens.kept.add(value)
      const answer = await nodes.ask('/introspect', { form: { token: value }, basic: basicOf('resource') })
      // It may have been revoked while this was under way.
      if (answer.status !== 200 || (answer.json()['active'] !== true && opaqueTokens.kept.has(value))) {
        throw unexpected('introspection', answer)
      }
      return true
    },
    async revocation() {
      const value = opaqueTokens.take()
      if (value === undefined) return undefined
      await opaqueTokens.end(value, async () => {
        const answer = await nodes.ask('/oauth/revoke', { form: { token: value }, basic: basicOf('service') })
        if (answer.status !== 200) throw unexpected('revocation', answer)
      })
      // The next node is asked.
      const answer = await nodes.ask('/introspect', { form: { token: value }, basic: basicOf('resource') })
      if (answer.json()['active'] !== false) throw unexpected('a revoked token', answer)
      return true
    },
    async password() {
      keepRefresh(await tokens('app', { grant_type: 'password', username: resident(), password: PASSWORD }))
      return true
    },
    async 'jwt-bearer'() {
      const own = await tokens('app', { grant_type: 'password', username: resident(), password: PASSWORD })
      keepRefresh(own)
      return tokens('app', { grant_type: GRANTS.bearer, assertion: String(own['id_token'] ?? own['access_token']) })
    },
    async 'saml2-bearer'() {
      const recipient = `${baseUrl}/oauth/token/alias/latchkey`
      const nameId = `${resident()}@corp.example`
      const assertion = base64UrlOf(corp.signedAssertion({ recipient, nameId }))
      const form = { grant_type: GRANTS.saml, assertion }
      const answer = await nodes.ask('/oauth/token/alias/latchkey', { form, basic: basicOf('carrier') })
      if (answer.status !== 200) throw unexpected('saml2-bearer', answer)
      return true
    },
    async 'token exchange'() {
      const own = await tokens('app', { grant_type: 'password', username: resident(), password: PASSWORD })
      keepRefresh(own)
      return tokens('cloud', {
        grant_type: GRANTS.exchange,
        subject_token: String(own['access_token']),
        subject_token_type: ACCESS_TOKEN,
        audience: 'stock',
      })
    },
    async user_token() {
      const own = await tokens('portal', { grant_type: 'password', username: resident(), password: PASSWORD })
      const form = { grant_type: 'user_token', client_id: 'app', scope: 'openid' }
      const answer = await nodes.ask('/oauth/token', { form, bearer: String(own['access_token']) })
      if (answer.status !== 200) throw unexpected('user_token', answer)
      keepRefresh(answer.json())
      return true
    },
    async device_code() {
      const begun = await nodes.ask('/oauth/device_authorization', { form: { client_id: 'tv', scope: 'cloud.read' } })
      if (begun.status !== 200) throw unexpected('device', begun)
      const codes = begun.json()
      const browser = await signIn(resident())
      const form = hiddenFields((await browser.send('/device')).text)
      const page = await browser.send('/device', { form: { ...form, user_code: String(codes['user_code']) } })
      const decision = { ...hiddenFields(page.text), user_oauth_approval: 'true' }
      const decided = await browser.send('/device/decision', { form: decision })
      if (decided.status !== 200) throw unexpected('decision', decided)
      const grant = { grant_type: GRANTS.device, device_code: String(codes['device_code']), client_id: 'tv' }
      const answer = await nodes.ask('/oauth/token', { form: grant })
      if (answer.status !== 200) throw unexpected('device_code', answer)
      return true
    },
    approval: () =>
      withPerson(
        async person => {
          const visitor = await signIn(person.userName)
          const verifier = newVerifier()
          if (await visitor.authorize(authorization('asking', verifier))) {
            return person.isApproved // an earlier one had no answer
              ? true
              : undefined
          }
          const location = await visitor.approve().catch((error: unknown) => {
            if (error instanceof Broken || error instanceof Unavailable) throw error
            throw new Violation(String(error))
          })
          if (!location.searchParams.has('code')) throw new Violation(`approval leads to ${location.href}`)
          person.isApproved = true
          return true
        },
        person => !person.isApproved,
      ),
    async 'SCIM create'() {
      named += 1
      const userName = `guest-${run}-${named}`
      doubtfulNames.add(userName)
      const body = {
        schemas: [SCIM_USER],
        userName,
        password: PASSWORD,
        ...versionOf(0),
        ...NAMES,
        emails: emailsOf(userName),
      }
      const answer = await directory('POST', SCIM, body)
      if (answer.status !== 201) throw unexpected('SCIM create', answer)
      doubtfulNames.delete(userName)
      const id = String(answer.json()['id'])
      people.kept.add({ userName, id, version: 0, doubtfulVersions: new Set(), isApproved: false, isBusy: false })
      return true
    },
    'SCIM patch': () =>
      withPerson(async person => {
        const version = Math.max(person.version, ...person.doubtfulVersions) + 1
        person.doubtfulVersions.add(version)
        const body = { schemas: [SCIM_PATCH], Operations: [{ op: 'replace', value: versionOf(version) }] }
        const answer = await directory('PATCH', `${SCIM}/${person.id}`, body)
        if (answer.status !== 200 && answer.status !== 204) throw unexpected('SCIM patch', answer)
        person.version = version
        person.doubtfulVersions.clear()
        return true
      }),
    'SCIM read': () => withPerson(person => checkPerson(person)),
    async 'SCIM delete'() {
      if (people.kept.size <= 20) return undefined
      return withPerson(person =>
        people.end(person, async () => {
          const answer = await directory('DELETE', `${SCIM}/${person.id}`)
          if (answer.status !== 204 && answer.status !== 200) throw unexpected('SCIM delete', answer)
          const gone = await directory('GET', `${SCIM}/${person.id}`)
          if (gone.status !== 404) throw unexpected('a deleted person', gone)
          return true
        }),
      )
    },
  }

  async function checkPerson(person: Person): Promise<boolean> {
    const answer = await directory('GET', `${SCIM}/${person.id}`)
    if (answer.status !== 200) throw unexpected(`person ${person.userName}`, answer)
    assertWhole(answer.json(), new Set([person.version, ...person.doubtfulVersions]))
    return true
  }

  return { all, order: spread(SHARES) }
}

/** Members that are changed together, and so must be equal. */
const versionOf = (version: number): object => ({
  nickName: `v${version}`,
  title: `v${version}`,
  userType: `v${version}`,
})
const NAMES = { name: { givenName: 'Given', familyName: 'Family' } }
const emailsOf = (userName: string): object => [{ value: `${userName}@example.org`, primary: true }]

/** Throws unless the record is complete, and as one of the changes left it. */
export function assertWhole(record: Record<string, unknown>, versions: ReadonlySet<number>): void {
  const { nickName, title, userType, emails, name } = record
  const isWhole =
    nickName === title && title === userType && Array.isArray(emails) && emails.length === 1 && name !== undefined
  if (!isWhole || !versions.has(Number(String(nickName).slice(1)))) {
    throw new Violation(`a record is not as it was left (${[...versions].join()}): ${JSON.stringify(record)}`)
  }
}

/** Query of `GET /oauth/authorize`. */
export const authorization = (clientId: string, verifier: string): Record<string, string> => ({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: REDIRECT_URI,
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
})

/** Each name as often as its count, evenly distributed. */
function spread(shares: Readonly<Record<string, number>>): readonly string[] {
  const places = Object.entries(shares).flatMap(([name, share], index) =>
    Array.from({ length: share }, (_, turn) => ({ name, at: (turn + index / 20) / share })),
  )
  return places.toSorted((a, b) => a.at - b.at).map(({ name }) => name)
}
