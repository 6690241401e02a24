// Sends valid and invalid requests to every operation of the document: each response must be documented, and none a server
// error.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { storeText } from '../../../src/accounts/texts.ts'
import { isJsonRecord } from '../../../src/base/json.ts'
import { createRandom } from '../../../src/base/random.ts'
import { MODES, tokensOf } from '../../support/oauth.ts'
import type { Draft, OpenApi, Operation, Place, Schema } from '../../support/openapi.ts'
import {
  arbitraryOf,
  bodyTypeOf,
  ODD_VALUES,
  parametersIn,
  placesOf,
  requestOf,
  responseOf,
  withoutEach,
} from '../../support/openapi.ts'
import { checkOf, errorsOf } from '../../support/openapi-checks.ts'
import { giveFactor } from '../../support/second-factor.ts'
import type { Browser, TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'
import { png } from '../../pages/states.ts'
import { runs, thinned } from '../../support/thinning.ts'

const caller = (id: string, authorities: readonly string[]) => ({
  client_id: id,
  client_secret: `${id}-secret`,
  authorized_grant_types: ['client_credentials'],
  authorities,
})

const bootstrap = {
  ...defaultBootstrap,
  clients: [
    ...defaultBootstrap.clients,
    caller('root', ['svc.admin', 'svc.resource']),
    caller('stranger', ['jobs.run']),
    caller('z1-admin', ['zones.z1.admin']),
    caller('web', ['svc.resource']),
    caller('finder', ['password.write', 'scim.userids']),
    {
      client_id: 'personal',
      client_secret: 'personal-secret',
      authorized_grant_types: ['password'],
      scope: ['oauth.approvals'],
    },
  ],
  groups: [...defaultBootstrap.groups, { displayName: 'oauth.approvals' }],
  users: [
    ...defaultBootstrap.users,
    { userName: 'owner', password: 'koala', emails: [{ value: 'owner@example.org' }], groups: ['oauth.approvals'] },
    { userName: 'managed', password: 'koala', emails: [{ value: 'managed@example.org' }] },
  ],
  identity_providers: [
    {
      originKey: 'svc',
      type: 'svc',
      name: 'svc',
      config: {
        passwordPolicy: {
          minLength: 0,
          maxLength: 255,
          requireUpperCaseCharacter: 0,
          requireLowerCaseCharacter: 0,
          requireDigit: 0,
          requireSpecialCharacter: 0,
          expirePasswordInMonths: 0,
        },
      },
    },
  ],
  identity_zones: [
    { id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: {} },
    { id: 'off', subdomain: 'off', name: 'Switched off', active: false },
  ],
}

/** Values of fields that need a certain one. */
const FORM: Readonly<Record<string, string>> = {
  grant_type: 'client_credentials',
  username: 'joel',
  password: 'wombat',
  response_type: 'code',
  client_id: 'app',
  redirect_uri: 'https://app.example/cb',
  email: 'joel@example.org',
  clientId: 'app',
  messageOrigin: 'https://app.example',
  filter: 'userName eq "joel"',
}

/** Optional fields that a successful request needs; others may replace them. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  '/authenticate': ['password'],
  '/oauth/par': ['response_type', 'redirect_uri'],
}

/** Headers that a successful request needs. */
const HEADERS: Readonly<Record<string, string>> = { 'If-Match': '*' }

/** Operations that cannot succeed with a generated request, because they need the state in the comment. */
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  'GET /.well-known/oauth-protected-resource', // in uaa a zone that has it
  'POST /connect/register', // a zone that lets clients register
  'GET /connect/register/{client_id}', // the client's own token
  'PUT /connect/register/{client_id}', // the same
  'DELETE /connect/register/{client_id}', // the same
  'DELETE /oauth/registration-tokens/{id}', // the id of a token
  'POST /oauth/device_authorization', // a client with the grant
  'POST /oauth/par', // the protocol, which is off in uaa
  'GET /device', // a zone with the grant
  'POST /device', // the same
  'POST /device/decision', // the same
  'DELETE /Users/{id}/mfa/passkeys/{passkey}', // a user with a passkey
  'DELETE /Users/{id}/mfa/recovery-codes', // with recovery codes
  'DELETE /Users/{id}/mfa/totp', // with an authenticator app
  'GET /Users/{id}/verify-link', // an account that is not verified
  'GET /invitations/accept', // the code of an invitation
  'GET /login/callback/{origin}', // an attempt that a provider answered
  'GET /reset_password', // a code for an account
  'GET /verify_email', // the same
  'GET /verify_user', // the same
  'POST /email_changes', // a code for an account
  'POST /email_verifications', // a scope that no administrator has
  'POST /identity-providers/test', // a directory
  'POST /login/backchannel_logout/{origin}', // a token of a provider
  'POST /password_change', // a code for an account
  'POST /password_resets', // the name of an account
  'GET /saml/SSO', // always refused
  'GET /saml/SSO/alias/{alias}', // the same
  'GET /saml/SingleLogout/alias/{alias}', // a message of a SAML provider
  'GET /saml/discovery', // a SAML provider
  'GET /saml/login/alias/{alias}', // the same
  'GET /saml/metadata/alias/{alias}', // the entity id of the zone
  'POST /saml/SSO', // its answer
  'POST /saml/SSO/alias/{alias}', // the same
  'POST /saml/SingleLogout/alias/{alias}', // a message of it
  'PUT /scim/v2/Me', // the very account, but for its name
])

/** Headers that programs act on. */
const DOCUMENTED_HEADERS = ['location', 'etag', 'www-authenticate', 'accept', 'retry-after']

/** Schemas whose members others define: administrators those of a client, and standards those of metadata. */
const OPEN: ReadonlySet<string> = new Set(['Client', 'Metadata'])

/** Members of the body that the schema, if it is one of the document's own, does not name. */
function unnamedMembers(body: unknown, { $ref }: Schema, { components }: OpenApi): readonly string[] {
  const name = String($ref).replace('#/components/schemas/', '')
  const { properties } = components.schemas[name] ?? {}
  if (!isJsonRecord(body) || !isJsonRecord(properties)) return []
  return OPEN.has(name) ? [] : Object.keys(body).filter(member => !Object.hasOwn(properties, member))
}

/** Every ninth invalid request is sent; the offset moves on with each operation. */
const EVERY = 9

/** A server with all users and clients of its document. */
class World {
  readonly server: TestServer
  readonly api: OpenApi
  /** Ids of existing records, by path parameter. */
  ids: Readonly<Record<string, string>> = {}
  /** Ids of created records. */
  made: Readonly<Record<string, string>> = {}
  readonly tokens: Readonly<
    Record<'owner' | 'finder' | 'root' | 'stranger' | 'person' | 'z1-admin' | 'spare' | 'doomed' | 'stored', string>
  >
  readonly problems: string[] = []
  readonly reached = new Set<string>()
  asked = 0
  turn = 0

  constructor(server: TestServer, api: OpenApi, tokens: World['tokens']) {
    this.server = server
    this.api = api
    this.tokens = tokens
  }

  static async start(options: Parameters<typeof startServer>[0]): Promise<World> {
    const server = await startServer({
      ...options,
      config: { bootstrap, audit: { enabled: true }, ...options?.config },
    })
    const api = (await server.send('/openapi.json')).json<OpenApi>()
    const own = async (id: string, more: Readonly<Record<string, string>> = {}) =>
      tokensOf(await server.token({ grant_type: 'client_credentials', ...more }, { basic: [id, `${id}-secret`] }))
        .access_token
    const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
    const person = tokensOf(await server.token(form, { basic: ['app', 'app-secret'] })).access_token
    const owner = tokensOf(
      await server.token({ ...form, username: 'owner' }, { basic: ['personal', 'personal-secret'] }),
    ).access_token
    const tokens = {
      owner,
      finder: await own('finder'),
      root: await own('root'),
      stranger: await own('stranger'),
      'z1-admin': await own('z1-admin'),
      spare: await own('web'),
      doomed: await own('web'),
      stored: await own('web', { token_format: 'opaque' }),
      person,
    }
    return new World(server, api, tokens)
  }

  /** Records how a response differs from the document. */
  judge({ method, path, operation }: Place, answer: TestAnswer, request: TestRequest, label: string): void {
    this.asked += 1
    const sent = (request.form ? JSON.stringify(request.form) : (request.body?.toString() ?? '')).slice(0, 200)
    const problem = (text: string): void => {
      const where = `${method} ${path} (${label}) ${JSON.stringify(request.query ?? {}).slice(0, 200)} ${sent}`
      if (this.problems.length < 40)
        this.problems.push(`${where}: ${answer.status} ${text} ${answer.text.slice(0, 300)}`)
    }
    if (answer.status >= 500) return problem('is a fault')
    const response = responseOf(this.api, operation, answer.status)
    if (!response) return problem('is not documented')
    if (answer.status < 400) this.reached.add(`${method} ${path}`)
    for (const name of DOCUMENTED_HEADERS) {
      if (answer.headers[name] !== undefined && !Object.hasOwn(response.headers ?? {}, name)) {
        problem(`has the undocumented header ${name}`)
      }
    }
    const type = String(answer.headers['content-type'] ?? '').split(';')[0] ?? ''
    if (answer.text === '') {
      if (response.content && response['x-body-may-be-absent'] !== true) problem('has no body')
      return
    }
    const schema = response.content?.[type]?.schema
    if (!schema) return problem(`has an undocumented body of type ${type}`)
    if (!type.endsWith('json')) return
    const check = checkOf(schema, this.api)
    const body = answer.json<unknown>()
    if (!check(body)) problem(`does not fit its schema: ${errorsOf(check)}`)
    const unnamed = unnamedMembers(body, schema, this.api)
    if (unnamed.length > 0) problem(`has the undocumented members ${unnamed.join(', ')}`)
  }

  async send(place: Place, draft: Draft, more: { label: string; request?: TestRequest; browser?: Browser }) {
    const [path, request] = requestOf(draft)
    const { headers, ...others } = more.request ?? {}
    const whole = { ...request, ...others, headers: { ...request.headers, ...headers } }
    const answer = await (more.browser ?? this.server).send(path, whole)
    this.judge(place, answer, whole, more.label)
    return answer
  }
}

/** A minimal valid request. */
function draftOf({ method, path, operation }: Place, world: World, csrf: string): Draft {
  const values = Object.fromEntries(
    parametersIn(operation, 'path').map(({ name }) => [name, world.ids[name] ?? 'joel']),
  )
  const required = parametersIn(operation, 'query').filter(each => each.required)
  const token = path === '/oauth/revoke' ? world.tokens.doomed : world.tokens.spare
  const usual = (name: string): string => (name === 'token' ? token : (FORM[name] ?? 'joel'))
  const query = Object.fromEntries(required.map(({ name }) => [name, usual(name)]))
  const type = bodyTypeOf(operation)
  const body = type === undefined ? undefined : operation.requestBody?.content[type]
  const names = type?.endsWith('form-urlencoded') ? ((body?.schema['required'] ?? []) as readonly string[]) : []
  const filled = [...names, ...(ALSO[path] ?? [])]
  const form = Object.fromEntries(filled.map(name => [name, name.endsWith('Csrf') ? csrf : usual(name)]))
  return {
    method,
    path,
    values,
    query,
    headers: Object.fromEntries(
      parametersIn(operation, 'header')
        .filter(each => each.required)
        .map(({ name }) => [name, HEADERS[name] ?? '']),
    ),
    ...(type?.endsWith('form-urlencoded') && { form }),
    ...(type?.endsWith('json') && { json: withMembers(body?.example, world) }),
  }
}

/** Replaces the id of the examples by that of an existing user. */
const withMembers = (example: unknown, { ids }: World): unknown =>
  example === undefined
    ? undefined
    : JSON.parse(JSON.stringify(example).replaceAll('6f0b1c1e-7a0f-4b58-9a55-0c8f3b1d2e90', ids['userId'] ?? ''))

/** Creates a group with a member and a mapping, and one for a zone, unless they exist. */
async function prepareGroups(
  { store, clock }: TestServer,
  { method, path }: Place,
  userId = '',
): Promise<Readonly<Record<string, string>>> {
  const now = clock.now()
  const names = { mapped: 'mapped', 'orders.read': 'orders', 'zones.gz.admin': 'gz' }
  for (const [displayName, id] of Object.entries(names)) {
    const group = { zoneId: 'svc', id, displayName, version: 0, createdAt: now, updatedAt: now }
    if (!(await store.groups.find('svc', id))) await store.groups.insertMissing('svc', [group])
  }
  for (const groupId of ['mapped', 'gz']) {
    if (!(await store.groups.find('svc', groupId))) continue
    await store.groups.addMember('svc', { groupId, memberId: userId, memberType: 'USER', origin: 'svc' })
  }
  if (await store.groups.find('svc', 'mapped')) {
    await store.groups.addExternal('svc', { groupId: 'mapped', origin: 'ldap', externalGroup: 'ext' })
  }
  const mapping = { groupId: 'mapped', displayName: 'mapped', externalGroup: 'ext', origin: 'ldap' }
  const isFree = method === 'PUT' || path.endsWith('members')
  const free = isFree ? await store.groups.findByName('svc', 'orders.read') : undefined
  const id = path.endsWith('{memberId}') ? 'mapped' : (free?.id ?? 'mapped')
  return { ...mapping, id, memberId: userId, userId, zoneId: 'gz', scope: 'admin' }
}

/** The code of a text that is stored for a minute. */
async function keptText({ store, clock }: TestServer): Promise<string> {
  const zone = (await store.zones.find('svc')) ?? assert.fail()
  const text = { data: '{}', expiresAt: new Date(clock.now().getTime() + 60_000) }
  return storeText(zone, text, { store, clock, random: createRandom() })
}

const schemesOf = ({ security }: Operation): ReadonlySet<string> => new Set(security.flatMap(each => Object.keys(each)))

/** The credentials of all callers that the document allows. */
function callersOf({ operation, path }: Place, world: World): readonly TestRequest[] {
  const schemes = schemesOf(operation)
  const { finder, owner, root, person } = world.tokens
  if (path.startsWith('/approvals')) return [{ bearer: owner }]
  if (path.startsWith('/ids/') || path === '/Users/{id}/password') return [{ bearer: finder }]
  return [
    ...(schemes.has('bearer') || schemes.has('bearerOfDefaultZone') ? [{ bearer: root }, { bearer: person }] : []),
    ...(schemes.has('clientSecretBasic')
      ? (['web', 'root', 'app'] as const).map(id => ({ basic: [id, `${id}-secret`] as const }))
      : []),
    ...(operation.security.length === 0 || schemes.has('session') || path.startsWith('/z') ? [{}] : []),
  ]
}

async function openBrowser(world: World, place: Place): Promise<{ browser: Browser; csrf: string } | undefined> {
  const isForPeople = schemesOf(place.operation).has('session') || JSON.stringify(place.operation).includes('-Csrf')
  if (!isForPeople && place.path !== '/login' && place.path !== '/oauth/authorize') return undefined
  const browser = world.server.browser()
  await browser.signIn('marissa', 'koala')
  return { browser, csrf: browser.csrf }
}

/** Records that a POST creates, with their id in the response. */
const MADE: Readonly<Record<string, string>> = {
  '/identity-providers': 'provider',
  '/scim/v2/Users': 'scimUser',
  '/scim/v2/Groups': 'scimGroup',
}

/** The records of the ids in SCIM paths. */
const SCIM_KINDS: Readonly<Record<string, string>> = {
  '/scim/v2/Users/{id}': 'scimUser',
  '/scim/v2/Groups/{id}': 'scimGroup',
  '/scim/v2/ResourceTypes/{id}': 'scimType',
  '/scim/v2/Schemas/{id}': 'scimSchema',
}

async function sendValidRequests(world: World, place: Place): Promise<void> {
  const person = await openBrowser(world, place)
  const draft = draftOf(place, world, person?.csrf ?? '')
  for (const request of callersOf(place, world)) {
    const answer = await world.send(place, draft, { label: 'valid', request, ...person })
    const kind = MADE[place.path]
    if (answer.status === 201 && kind !== undefined) {
      world.made = { ...world.made, [kind]: answer.json<{ id: string }>().id }
    }
    await world.send(place, draft, {
      label: 'valid, as JSON',
      request: { ...request, headers: { accept: 'application/json' } },
      ...person,
    })
  }
}

const LONG = 'x'.repeat(300)
const HUGE = 'x'.repeat(1_100_000)
const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }

/** Requests with an invalid envelope: host, headers or body syntax. */
const malformed = (draft: Draft): readonly (readonly [label: string, request: TestRequest])[] => [
  ['an unknown zone', { host: 'nowhere.localhost:8080' }],
  ['an inactive zone', { host: 'off.localhost:8080' }],
  ['another zone', { host: 'z1.localhost:8080' }],
  ['into another zone', { headers: { 'x-identity-zone-id': 'z1' } }],
  ['into an unknown zone', { headers: { 'x-identity-zone-subdomain': 'nowhere' } }],
  ['a foreign origin', { headers: { origin: 'https://evil.example' } }],
  ['a browser', { headers: { accept: 'text/html' } }],
  ['a bad accept', { headers: { accept: ';;q=,' } }],
  ...(draft.method === 'GET'
    ? []
    : ([
        ['a content encoding', { headers: { 'content-encoding': 'gzip' } }],
        ['another type', { body: '<a/>', headers: { 'content-type': 'text/xml' } }],
        ['truncated JSON', { body: '{"a":', headers: JSON_TYPE }],
        ['a JSON string', { body: '"x"', headers: JSON_TYPE }],
        ['a JSON null', { body: 'null', headers: JSON_TYPE }],
        ['a deep JSON', { body: '['.repeat(5000), headers: JSON_TYPE }],
        ['a prototype', { body: '{"__proto__":{"x":1}}', headers: JSON_TYPE }],
        ['an empty object', { body: '{}', headers: JSON_TYPE }],
        ['an empty list', { body: '[]', headers: JSON_TYPE }],
        ['invalid UTF-8', { body: Buffer.from([0x7b, 0xff, 0x7d]), headers: JSON_TYPE }],
        ['no body', { body: '', headers: JSON_TYPE }],
        ['a huge JSON', { body: `{"a":"${HUGE}"}`, headers: JSON_TYPE }],
        ['a huge form', { body: `a=${HUGE}`, headers: FORM_TYPE }],
        ['a bad form', { body: 'a=%zz', headers: FORM_TYPE }],
        ['a repeated field', { body: 'client_id=app&client_id=app&token=x&token=y', headers: FORM_TYPE }],
      ] as const)),
]

/** Requests with invalid content. */
function* invalid(draft: Draft, { operation }: Place): Generator<readonly [label: string, draft: Draft]> {
  for (const query of withoutEach(draft.query, Object.keys(draft.query))) {
    yield ['a parameter is missing', { ...draft, query: query as Draft['query'] }] // strings, as before
  }
  for (const { name } of parametersIn(operation, 'query')) {
    for (const value of ['', 'no such', '-1', '9'.repeat(20), 'a\0b', LONG]) {
      yield [`query ${name}`, { ...draft, query: { ...draft.query, [name]: value } }]
    }
  }
  for (const { name } of parametersIn(operation, 'path')) {
    for (const value of ['no such', LONG, 'a/b', '%', '\0', 'a..b', '\u{1f511}']) {
      yield [`path ${name}`, { ...draft, values: { ...draft.values, [name]: value } }]
    }
  }
  yield ['an unknown parameter', { ...draft, query: { ...draft.query, extra: 'x' } }]
  const { form, json } = draft
  if (form) {
    for (const less of withoutEach(form, Object.keys(form))) {
      yield ['a field is missing', { ...draft, form: less as Draft['form'] & object }] // strings, as before
    }
    yield ['an unknown field', { ...draft, form: { ...form, extra: 'x' } }]
    for (const name of Object.keys(form)) {
      for (const value of ['', ' ', 'no such', 'a\0b', LONG, '{', '</script>']) {
        yield [`field ${name}`, { ...draft, form: { ...form, [name]: value } }]
      }
    }
  }
  if (json === undefined) return
  const isList = Array.isArray(json)
  const record = Object(isList ? json[0] : json) as Readonly<Record<string, unknown>>
  const send = (each: unknown): Draft => ({ ...draft, json: isList ? [each] : each })
  for (const less of withoutEach(record, Object.keys(record))) yield ['a member is missing', send(less)]
  for (const name of Object.keys(record)) {
    for (const value of ODD_VALUES) yield [`member ${name}`, send({ ...record, [name]: value })]
  }
  for (const value of ODD_VALUES) yield ['an odd body', { ...draft, json: value }]
  yield ['an unknown member', send({ ...record, extra: { a: [1, 'x', null] } })]
  if (isList) yield ['the same twice', { ...draft, json: [record, record] }]
}

async function sendInvalidRequests(world: World, place: Place): Promise<void> {
  const person = await openBrowser(world, place)
  const draft = draftOf(place, world, person?.csrf ?? '')
  const [caller = {}] = callersOf(place, world)
  for (const request of [
    {},
    { bearer: 'x' },
    { bearer: '' },
    { bearer: world.tokens.stranger },
    { bearer: world.tokens['z1-admin'] },
  ]) {
    await world.send(place, draft, { label: 'a stranger', request })
  }
  for (const basic of [
    ['root', 'wrong'],
    ['nobody', ''],
    ['stranger', 'stranger-secret'],
  ] as const) {
    await world.send(place, draft, { label: 'a wrong client', request: { basic } })
  }
  await world.send(place, draft, { label: 'a broken header', request: { headers: { authorization: 'Basic %%%' } } })
  for (const [label, request] of thinned(malformed(draft), EVERY, (world.turn += 1))) {
    const { form: _, json: __, ...bodiless } = draft
    const base = request.body === undefined ? draft : bodiless
    await world.send(place, base, { label, request: { ...caller, ...request }, ...person })
    if (person) await world.send(place, base, { label: `${label}, signed out`, request })
  }
  for (const [label, invalidDraft] of thinned(invalid(draft, place), EVERY, world.turn)) {
    await world.send(place, invalidDraft, { label, request: caller, ...person })
  }
}

/** Sends random requests drawn from the schemas, with a fixed seed. */
async function sendRandomRequests(world: World, place: Place): Promise<void> {
  const person = await openBrowser(world, place)
  const draft = draftOf(place, world, person?.csrf ?? '')
  const [request = {}] = callersOf(place, world)
  const type = bodyTypeOf(place.operation)
  const schema = type === undefined ? undefined : place.operation.requestBody?.content[type]?.schema
  const queries = parametersIn(place.operation, 'query')
  const arbitrary = fc.record({
    query: fc.record(Object.fromEntries(queries.map(each => [each.name, arbitraryOf(each.schema, world.api)])), {
      requiredKeys: queries.filter(each => each.required).map(each => each.name),
    }),
    body: schema ? arbitraryOf(schema, world.api) : fc.constant(undefined),
  })
  for (const { query, body } of fc.sample(arbitrary, { numRuns: runs(12), seed: 2 })) {
    const texts = Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))
    const fields = draft.form ? Object.entries(Object(body) as Readonly<Record<string, string>>) : [] // a form's schema has strings
    const form = Object.fromEntries(fields)
    const drawn = {
      ...draft,
      query: texts,
      ...(draft.form && { form: { ...draft.form, ...form, ...(person && onlyCsrf(draft.form)) } }),
      ...(draft.json !== undefined && { json: body }),
    }
    await world.send(place, drawn, { label: 'random', request, ...person })
  }
}

/** Most fields of page forms are validated only after the anti-forgery token. */
const onlyCsrf = (form: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(form).filter(([name]) => name.endsWith('Csrf')))

/** Adds one factor of each kind to the user, and returns the id of the passkey. */
async function prepareFactors(server: TestServer, userId = ''): Promise<string> {
  const { factors } = server.store
  await giveFactor(server, userId, 'totp')
  await giveFactor(server, userId, 'passkey')
  const createdAt = server.clock.now()
  await factors.setCodes('svc', userId, { kind: 'recovery', digests: ['r'], createdAt })
  await factors.setCodes('svc', userId, { kind: 'bypass', digests: ['b'], createdAt, expiresAt: new Date(8e12) })
  return userId
}

/** Deletes come last. */
const ORDER = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE']
const byOrder = (a: Place, b: Place): number =>
  ORDER.indexOf(a.method) - ORDER.indexOf(b.method) || (isEnd(a) && isEnd(b) ? b.path.length - a.path.length : 0)
const isEnd = ({ method, path }: Place): boolean => method === 'DELETE' || path === '/oauth/clients/tx/delete'

const LOGO = png(2, 2, [1, 2, 3])
const BRANDING = { squareLogo: LOGO, productLogo: LOGO, banner: { logo: LOGO, backgroundColor: '#ffd54a' } }
const QUERY = { jwt: { token: { queryString: { enabled: true } } } }
const servers = [
  ...MODES.map(mode => ({
    name: mode,
    mode,
    config: { zone_config: { secondFactor: { requirement: 'optional' }, branding: BRANDING } },
    paths: /./,
  })),
  {
    name: 'uaa with parameters in the query',
    mode: 'uaa',
    config: QUERY,
    paths: /^\/(?:oauth\/token(?:$|\/alias)|check_token|userinfo)/,
  },
] as const

for (const { name: title, mode, config, paths } of servers) {
  describe(`Operations of /openapi.json in ${title}`, () => {
    let world: World
    let known: Readonly<Record<string, string>>
    before(async () => {
      world = await World.start({ mode, config })
      const { users, providers } = world.server.store
      const joel = await users.findByName('svc', 'svc', 'joel')
      const managed = await users.findByName('svc', 'svc', 'managed')
      const internal = await providers.findByOrigin('svc', 'svc')
      known = {
        clientId: 'shop',
        userId: joel?.id ?? '',
        managed: managed?.id ?? '',
        internal: internal?.id ?? '',
        zone: 'branch',
        origin: 'svc',
        entity: 'latchkey',
        tokenId: world.tokens.stored,
        scimType: 'User',
        scimSchema: 'urn:ietf:params:scim:schemas:core:2.0:User',
        more: 'x',
      }
    })
    after(() => world.server.stop())

    /** Sets the ids for the path, because the same parameter names different records. */
    async function at(place: Place): Promise<Place> {
      const { path } = place
      const kind = path.startsWith('/identity-zones') ? 'zone' : path.endsWith('/status') ? 'internal' : 'provider'
      const client_id = path.startsWith('/identity-zones') ? 'portal' : 'shop'
      const clientId = path.startsWith('/approvals') ? 'app' : (known['clientId'] ?? '')
      const records = { ...known, ...world.made }
      const id = path.startsWith('/Users') ? known['managed'] : records[SCIM_KINDS[path] ?? kind]
      world.ids = { ...known, ...world.made, clientId, client_id, id: id ?? 'nothing' }
      if (path === '/Codes/{code}') world.ids = { ...world.ids, code: await keptText(world.server) }
      if (path.includes('/mfa')) world.ids = { ...world.ids, passkey: await prepareFactors(world.server, id) }
      if (path.startsWith('/Groups'))
        world.ids = { ...world.ids, ...(await prepareGroups(world.server, place, known['userId'])) }
      return place
    }

    // Covers GET /openapi.json: rule: statuses and bodies are those that are answered
    it('answer valid and invalid requests as documented, never with a server error', async () => {
      const places = placesOf(world.api).toSorted(byOrder)
      const wanted = places.filter(({ path }) => paths.test(path))
      assert.ok(wanted.length > 10)
      for (const place of wanted.filter(each => !isEnd(each))) await sendValidRequests(world, await at(place))
      for (const place of wanted) {
        await sendInvalidRequests(world, await at(place))
        await sendRandomRequests(world, await at(place))
      }
      for (const place of wanted.filter(isEnd)) {
        await sendValidRequests(world, await at(place))
      }
      assert.deepEqual(world.problems, [])
      assert.deepEqual(world.server.faults, [])
      assert.ok(world.asked > wanted.length * 15, `${world.asked} requests`)
      const missed = wanted
        .filter(({ operation }) => Object.keys(operation.responses).some(status => Number(status) < 400))
        .map(({ method, path }) => `${method} ${path}`)
        .filter(name => !world.reached.has(name))
      assert.deepEqual(missed.toSorted(), [...OUT_OF_REACH].filter(name => missed.includes(name)).toSorted())
    })
  })
}
