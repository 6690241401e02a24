// The server accepts requests that the document declares valid, and rejects the others: every operation with JSON or query
// parameters gets variants of an accepted request with one difference.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Store } from '../../../src/store/store.ts'
import { MODES, tokensOf } from '../../support/oauth.ts'
import type { OpenApi, Place, Schema } from '../../support/openapi.ts'
import { parametersIn, placesOf } from '../../support/openapi.ts'
import { bodyCases, parameterCases, validatorOf } from '../../support/openapi-cases.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'
import { thinned } from '../../support/thinning.ts'

type Members = Readonly<Record<string, unknown>>

/** Errors for valid requests by rules that a schema cannot express, beside the statuses below. */
const RULES: readonly RegExp[] = [
  /does not match the client id in the url|does not match URL path/, // path and body must agree
  /One of the (?:redirect_uri|post_logout_redirect_uris) is invalid/, // URL syntax
  /Client Secret must be|A new secret must be provided/, // the policy of the zone
  /client secret is either empty or client/, // the number of secrets
  /Client secret is required for|Implicit grant should not have/, // requirements of grants
  /requires at least one redirect URL/,
  /Client jwt configuration cannot be parsed|Invalid private_key_jwt|Invalid jwt configuration/, // JSON in a string
  /Client jwt configuration with invalid URI/,
  /Invalid federated jwt credentials/, // iss and sub depend on each other
  /only openid scope is allowed|authority is allowed|cannot be blank|only the internal IdP/, // §5.7
  /Invalid provider configuration|malformed_provider/, // the members of `config` depend on the type
  /Client not found|invalid_filter|Invalid filter expression|Filter not supported|Invalid attributes/, // a string with its own grammar
  /appLaunchUrl must be a valid URL/,
  /(?:sector_identifier|initiate_login|frontchannel_logout|backchannel_logout)_uri must be an https URL/,
  /tls_client_auth_\w+ needs token_endpoint_auth_method/, // depends on another member
  /frontchannel_logout_uri must have the scheme, host and port of a redirect URI/,
  /resources\[\d+\] must be an absolute URI|request_uris\[\d+\] must be an https URL/,
  /email must be provided|A (?:user)?name must be provided|Username must match|Invalid origin|alias|Password must/i, // of users
  /Only schema|There is no client|An approval must have|must be a date|cannot be removed|Can not drop/,
  /change user's origin|change origin in patch|already in use|Cannot set user account|cannot be removed via API/,
  /Invalid attributes|Old password is incorrect|cannot be the same as the old/,
  /must be a date and time|has no scope|is not that of the path|another user|clientId is missing/, // approvals
  /enter a valid email address/,
  /Error accessing user's approvals/, // the same in uaa
  /Invalid group member|does not exist|named twice|A group with displayName: .* already exists/, // of groups
  /expiresAt must be (?:in the future|within)/, // of /Codes
  /secondFactor\.(?:groups|methods|origins):? (?:has no effect|must|there is no)/, // depends on records of the zone
  /A displayName must be provided/, // a PATCH clears it
]

/** The same for SCIM. */
const SCIM_RULES: readonly RegExp[] = [
  /Unknown attribute|has no schema|schemas must be a list of strings/, // defined by `/scim/v2/Schemas`
  /Username must match/, // of accounts of the internal provider
  /The filter is not valid|The order is not valid|The cursor does not belong|supports pages by index only/,
]

/** Statuses that depend on stored records: not found, duplicate, or against a rule. */
const BY_RULE: ReadonlySet<number> = new Set([404, 409, 422])

/** Operations that need more than a generated request, like an LDAP server or the token of a client itself. */
const OUT_OF_REACH: ReadonlySet<string> = new Set([
  '/identity-providers/test',
  '/password_change',
  '/connect/register',
  '/connect/register/{client_id}',
])

const root = {
  client_id: 'root',
  client_secret: 'root-secret',
  authorized_grant_types: ['client_credentials'],
  authorities: ['svc.admin', 'password.write', 'oauth.login'],
}

/** A client whose users may manage approvals. */
const personal = {
  client_id: 'personal',
  client_secret: 'personal-secret',
  authorized_grant_types: ['password'],
  scope: ['oauth.approvals'],
}
const somebody = {
  userName: 'somebody',
  password: 'koala',
  emails: [{ value: 'somebody@example.org' }],
  groups: ['oauth.approvals'],
}

const passwordPolicy = {
  minLength: 0,
  maxLength: 255,
  requireUpperCaseCharacter: 0,
  requireLowerCaseCharacter: 0,
  requireDigit: 0,
  requireSpecialCharacter: 0,
  expirePasswordInMonths: 0,
}

const LIST = /tx|modify/
let count = 0

/** A request that is accepted, created anew for each variant. */
interface Accepted {
  /** Unique to its record. */
  readonly id: string
  readonly path: string
  readonly body: unknown
}

async function acceptedOf(place: Place, store: Store, send: Send): Promise<Accepted> {
  const { method, path, operation } = place
  const example = operation.requestBody?.content['application/json']?.example
  const id = `case-${(count += 1)}`
  const isList = Array.isArray(example)
  const [first]: unknown[] = isList ? example : [example]
  const record = Object(first) as Members
  const named = (name: string): Members => (Object.hasOwn(record, name) ? { ...record, [name]: id } : record)
  const wrap = (body: unknown): unknown => (isList ? [body] : body)
  const make = async (url: string, body: unknown): Promise<TestAnswer> => {
    const answer = await send('POST', url, body)
    assert.equal(answer.status, 201, answer.text)
    return answer
  }
  const client = { client_id: id, client_secret: 's', authorized_grant_types: ['client_credentials'] }
  if (path.startsWith('/Users')) {
    const user = { ...record, ...('userName' in record && { userName: id }) }
    if (method === 'POST' && path === '/Users') return { id, path, body: user }
    const made = await make('/Users', { userName: id, password: 'long enough', emails: [{ value: 'a@b.example' }] })
    return { id, path: path.replace('{id}', String(made.json()['id'])), body: user }
  }
  if (path === '/email_verifications') {
    const user = await store.users.findByName('svc', 'svc', 'somebody')
    return { id, path, body: { ...record, userId: user?.id } }
  }
  if (path.startsWith('/approvals')) return { id, path: path.replace('{clientId}', 'app'), body: wrap(record) }
  if (path.startsWith('/oauth/clients')) {
    const isNew = method === 'POST' && (!LIST.test(path) || path === '/oauth/clients/tx' || record['action'] === 'add')
    if (!isNew) await make('/oauth/clients', client)
    return {
      id,
      path: path.replace('{client_id}', id),
      body: wrap('clientId' in record ? named('clientId') : named('client_id')),
    }
  }
  if (path.startsWith('/Groups')) {
    const user = await store.users.findByName('svc', 'svc', 'somebody')
    const members = 'members' in record ? { members: [{ value: user?.id ?? '' }] } : {}
    if (path.endsWith('zones')) return { id, path, body: { ...record, ...members } }
    const groupId = String((await make('/Groups', { displayName: `${id}-before` })).json()['id'])
    const memberId = user?.id ?? ''
    if (path.endsWith('{memberId}')) await make(`/Groups/${groupId}/members`, { value: memberId })
    if (path.endsWith('members')) return { id, path: path.replace('{id}', groupId), body: { value: memberId } }
    if (path.endsWith('External')) return { id, path, body: { groupId, externalGroup: id } }
    const url = path.replace('{id}', groupId).replace('{memberId}', memberId)
    return { id, path: url, body: { ...named('displayName'), members: [{ value: memberId }] } }
  }
  if (path === '/invite_users') return { id, path: `${path}?redirect_uri=x`, body: record }
  if (path === '/identity-zones/{id}/clients')
    return { id, path: '/identity-zones/z1/clients', body: named('client_id') }
  if (path.startsWith('/identity-zones')) {
    const zone = { ...record, id, subdomain: id }
    if (method !== 'POST') await make('/identity-zones', { id, subdomain: id, name: 'x' })
    return { id, path: path.replace('{id}', id), body: zone }
  }
  if (path.endsWith('/status')) {
    const internal = await store.providers.findByOrigin('svc', 'svc')
    return { id, path: path.replace('{id}', internal?.id ?? ''), body: record }
  }
  if (path.startsWith('/identity-providers')) {
    const config = Object(record['config']) as Members
    const provider = { ...record, originKey: id, config: { ...config, issuer: `https://${id}.example` } }
    if (method === 'POST') return { id, path, body: path.endsWith('/test') ? record : provider }
    const made = await make('/identity-providers', provider)
    return { id, path: path.replace('{id}', String(made.json()['id'])), body: provider }
  }
  return { id, path, body: record }
}

/** The same for SCIM. */
async function acceptedOfScim({ method, path, operation }: Place, send: Send): Promise<Accepted> {
  const example = Object(operation.requestBody?.content['application/scim+json']?.example) as Members
  const id = `scim-${(count += 1)}@example.org`
  const isUser = path.includes('/Users')
  const name = isUser ? 'userName' : 'displayName'
  const value = JSON.parse(
    JSON.stringify(example)
      .replace(/adele@example\.org|tours\.(?:read|write)|(?:user|group)\.changed/g, id)
      .replace('alex@example.org', id),
  ) as Members
  const body = { ...value, ...('userName' in value && { emails: [{ value: 'a@b.example' }] }) }
  if (!path.endsWith('{id}')) return { id, path, body }
  const schema = `urn:ietf:params:scim:schemas:core:2.0:${isUser ? 'User' : 'Group'}`
  const made = await send('POST', path.replace('/{id}', ''), { schemas: [schema], [name]: `${id}-before` })
  assert.equal(made.status, 201, `${method} ${path}: ${made.text}`)
  return { id, path: path.replace('{id}', String(made.json()['id'])), body }
}

type Send = (method: string, path: string, body?: unknown) => Promise<TestAnswer>

/** Coprime to 22, the number of cases per member, so that every value is covered. */
const EVERY = 13

for (const [offset, mode] of MODES.entries()) {
  describe(`Schemas of /openapi.json and accepted requests in ${mode}`, () => {
    let server: TestServer
    let api: OpenApi
    let send: Send
    before(async () => {
      const bootstrap = {
        ...defaultBootstrap,
        groups: [...defaultBootstrap.groups, { displayName: 'oauth.approvals' }],
        clients: [...defaultBootstrap.clients, root, personal],
        users: [...defaultBootstrap.users, somebody],
        identity_providers: [{ originKey: 'svc', type: 'svc', name: 'svc', config: { passwordPolicy } }],
        identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: {} }],
      }
      server = await startServer({
        mode,
        config: { bootstrap, audit: { enabled: true }, zone_config: { secondFactor: { requirement: 'optional' } } },
      })
      api = (await server.send('/openapi.json')).json<OpenApi>()
      const form = { grant_type: 'client_credentials' }
      const bearer = tokensOf(await server.token(form, { basic: ['root', 'root-secret'] })).access_token
      const account = { grant_type: 'password', username: 'somebody', password: 'koala' }
      const personBearer = tokensOf(
        await server.token(account, { basic: ['personal', 'personal-secret'] }),
      ).access_token
      send = (method, path, body) =>
        server.send(path, {
          method,
          bearer: path.startsWith('/approvals') ? personBearer : bearer,
          ...(body !== undefined && {
            body: typeof body === 'string' ? body : JSON.stringify(body),
            headers: { 'content-type': 'application/json', 'if-match': '*' },
          }),
        })
    })
    after(() => server.stop())

    it('agree on JSON bodies', async () => {
      const problems: string[] = []
      for (const place of placesOf(api)) {
        const content = place.operation.requestBody?.content['application/json']
        if (!content || OUT_OF_REACH.has(place.path)) continue
        const isValid = validatorOf(content.schema, api)
        const plain = await acceptedOf(place, server.store, send)
        const usual = await send(place.method, plain.path, plain.body)
        assert.ok(usual.status < 400, `${place.method} ${plain.path}: ${usual.text}`)
        for (const { label, body } of thinned(bodyCases(content.schema, plain.body, api), EVERY, 3 * offset)) {
          const { id, path } = await acceptedOf(place, server.store, send)
          const text = JSON.stringify(body).replaceAll(plain.id, id)
          const answer = await send(place.method, path, text)
          const valid = isValid(JSON.parse(text))
          const agrees = valid
            ? answer.status < 400 || BY_RULE.has(answer.status) || RULES.some(rule => rule.test(answer.text))
            : answer.status >= 400
          if (agrees && answer.status < 500) continue
          const reported = `${answer.status} ${answer.text.slice(0, 160)}`
          problems.push(`${place.method} ${place.path} ${valid ? 'valid' : 'invalid'} ${label}: ${reported}`)
        }
      }
      assert.deepEqual(problems, [])
    })

    it('agree on SCIM bodies', async () => {
      const problems: string[] = []
      for (const place of placesOf(api)) {
        const content = place.operation.requestBody?.content['application/scim+json']
        if (!content || place.path === '/scim/v2/Me') continue // requires the token of a user
        const isValid = validatorOf(content.schema, api)
        const plain = await acceptedOfScim(place, send)
        for (const { label, body } of [
          { label: 'accepted', body: plain.body },
          ...thinned(bodyCases(content.schema, plain.body, api), 5, offset),
        ]) {
          const { path, id } = await acceptedOfScim(place, send)
          const text = JSON.stringify(body).replaceAll(plain.id, id)
          const answer = await send(place.method, path, text)
          const agrees = isValid(JSON.parse(text))
            ? answer.status < 400 || answer.status === 409 || SCIM_RULES.some(rule => rule.test(answer.text))
            : answer.status >= 400
          if (agrees && answer.status < 500) continue
          const reported = `${answer.status} ${answer.text.slice(0, 200)}`
          problems.push(`${place.method} ${place.path} ${label} ${text.slice(0, 160)}: ${reported}`)
        }
      }
      assert.deepEqual(problems, [])
    })

    it('agree on SCIM messages', async () => {
      const user = await server.store.users.findByName('svc', 'svc', 'somebody')
      const patch = (operation: object) => ({
        schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
        Operations: [operation],
      })
      const search = (more: object) => ({ schemas: ['urn:ietf:params:scim:api:messages:2.0:SearchRequest'], ...more })
      const requests: readonly (readonly [place: string, isValid: boolean, body: unknown])[] = [
        ['PATCH /scim/v2/Users/{id}', false, patch({ op: 'add', path: 'displayName' })],
        ['PATCH /scim/v2/Users/{id}', false, patch({ op: 'replace', path: 'displayName' })],
        ['PATCH /scim/v2/Users/{id}', false, patch({ op: 'remove' })],
        ['PATCH /scim/v2/Users/{id}', false, patch({ op: 'Remove', path: null })],
        ['PATCH /scim/v2/Users/{id}', true, patch({ op: 'Add', path: 'displayName', value: 'x' })],
        ['PATCH /scim/v2/Users/{id}', true, patch({ op: 'replace', path: null, value: { displayName: 'x' } })],
        ['PATCH /scim/v2/Users/{id}', true, patch({ op: 'remove', path: 'displayName' })],
        ['POST /scim/v2/Users/.search', true, search({ cursor: '', count: 5 })],
        ['POST /scim/v2/Users/.search', true, search({ cursor: null, startIndex: 2 })],
        ['POST /scim/v2/Users/.search', false, search({ cursor: '', startIndex: 2 })],
        ['POST /scim/v2/Users/.search', false, search({ cursor: '', count: 0 })],
        ['POST /scim/v2/.search', true, search({ cursor: null, startIndex: 2, count: 0 })],
        ['POST /scim/v2/.search', false, search({ cursor: '' })],
      ]
      const places = new Map(placesOf(api).map(place => [`${place.method} ${place.path}`, place]))
      for (const [name, isValid, body] of requests) {
        const { method = '', path = '', operation } = places.get(name) ?? {}
        const schema = operation?.requestBody?.content['application/scim+json']?.schema ?? assert.fail(name)
        const label = `${name} ${JSON.stringify(body)}`
        assert.equal(validatorOf(schema, api)(body), isValid, label)
        const answer = await send(method, path.replace('{id}', user?.id ?? ''), body)
        assert.equal(answer.status < 400, isValid, `${label}: ${answer.text}`)
      }
    })

    it('agree on form fields that are unknown', async () => {
      const problems: string[] = []
      for (const { method, path, operation } of placesOf(api)) {
        const schema = operation.requestBody?.content['application/x-www-form-urlencoded']?.schema
        if (!schema) continue
        const fieldSchemas = Object(schema['properties']) as Readonly<Record<string, Schema>>
        const usual = Object.fromEntries(
          [schema['required'] ?? []]
            .flat()
            .map(String)
            .map(name => {
              const [word = 'x'] = [fieldSchemas[name]?.['enum'] ?? []].flat().map(String)
              return [name, word]
            }),
        )
        const refused = async (query: string): Promise<boolean> => {
          const headers = { 'content-type': 'application/x-www-form-urlencoded' }
          const body = `${new URLSearchParams(usual).toString()}&${query}`
          const { status, text } = await server.send(path.replace('{entity}', 'latchkey'), {
            method,
            body,
            headers,
            basic: ['root', 'root-secret'],
          })
          return status === 400 && /must not be repeated|NUL/.test(text)
        }
        const isValid = validatorOf(schema, api)
        const cases: readonly (readonly [fields: object, query: string])[] = [
          [{ unknown: ['one', 'two'] }, 'unknown=one&unknown=two'],
          [
            { resource: ['https://a.example', 'https://b.example'] },
            'resource=https://a.example&resource=https://b.example',
          ],
          [{ unknown: 'a\u0000b' }, 'unknown=a%00b'],
          [{ unknown: ['a', 'a\u0000b'] }, 'unknown=a&unknown=a%00b'],
          [{ 'un\u0000known': 'a' }, 'un%00known=a'],
        ]
        for (const [fields, query] of cases) {
          if (isValid({ ...usual, ...fields }) === (await refused(query))) problems.push(`${method} ${path} ${query}`)
        }
      }
      assert.deepEqual(problems, [])
    })

    it('agree on a semicolon in a path', async () => {
      const place = placesOf(api).find(each => each.method === 'GET' && each.path === '/Users/{id}')
      const [{ schema } = assert.fail('no parameter')] = parametersIn(place?.operation ?? assert.fail(), 'path')
      const { status } = await send('GET', '/Users/a%3Bb')
      assert.equal(validatorOf(schema, api)('a;b'), status === 404)
      assert.equal(validatorOf(schema, api)('a-b'), true)
    })

    it('agree on required and invalid members', async () => {
      const issuers = { jwt_creds: [{ iss: 'https://x.example', sub: '' }] }
      const client = { client_id: 'must', client_secret: 's', authorized_grant_types: ['client_credentials'] }
      const zone = { subdomain: 'must', name: 'must' }
      const provider = { type: 'saml', originKey: 'must', name: 'must' }
      const user = await server.store.users.findByName('svc', 'svc', 'somebody')
      const whole = { userName: 'must', emails: [{ value: 'a@b.example' }] }
      const refused: readonly (readonly [place: string, body: unknown])[] = [
        ['POST /oauth/clients', { ...client, ...issuers }],
        ['POST /oauth/clients', { ...client, jwt_creds: [{ iss: 'x', sub: 'y' }] }],
        ['POST /identity-zones', { ...zone, config: { tokenPolicy: { keys: { one: { signingKey: '' } } } } }],
        ['POST /identity-zones', { ...zone, config: { issuer: 'http://' } }],
        ['POST /identity-zones', { ...zone, config: { issuer: 'https://x.example/?y' } }],
        ['POST /identity-providers', { ...provider, config: null }],
        ['POST /identity-providers', provider],
        ['PATCH /Users/{id}/status', { locked: true }],
        ['PATCH /Users/{id}/status', { passwordChangeRequired: false }],
        ['POST /Users', { zoneId: 'svc' }],
        ['POST /Users', { ...whole, userName: ' ' }],
        ['POST /Users', { ...whole, emails: [] }],
        ['POST /Users', { ...whole, emails: [{ value: 'a@b.example' }, { value: 'b@b.example' }] }],
        ['POST /Users', { ...whole, approvals: [{ clientId: 'app', status: 'APPROVED' }] }],
        ['POST /identity-zones', { ...zone, subdomain: 'x'.repeat(64) }],
        ['POST /identity-zones', { ...zone, subdomain: 'a..b' }],
        ['PUT /Users/{id}', whole],
      ]
      const places = new Map(placesOf(api).map(place => [`${place.method} ${place.path}`, place]))
      for (const [name, body] of refused) {
        const { method = '', path = '', operation } = places.get(name) ?? {}
        const schema = operation?.requestBody?.content['application/json']?.schema ?? assert.fail(name)
        const label = `${name} ${JSON.stringify(body)}`
        assert.equal(validatorOf(schema, api)(body), false, label)
        const answer = await send(method, path.replace('{id}', user?.id ?? ''), body)
        assert.ok(answer.status >= 400 && answer.status < 500, `${label}: ${answer.status} ${answer.text}`)
      }
    })

    it('agree that required strings must not be empty', async () => {
      for (const { method, path, operation } of placesOf(api)) {
        const form = operation.requestBody?.content['application/x-www-form-urlencoded']?.schema ?? {}
        const needed = [form['required'] ?? []].flat().map(String)
        const schemas = Object(form['properties']) as Readonly<Record<string, Schema>>
        const isUsual = path.startsWith('/ids/') || /token|introspect|explain/.test(path)
        for (const name of needed) {
          assert.ok('minLength' in (schemas[name] ?? {}) || 'enum' in (schemas[name] ?? {}), `${path} ${name}`)
          if (!isUsual) continue
          const others = Object.fromEntries(needed.map(each => [each, each === name ? '' : 'x']))
          const answer = await server.send(path, { method, form: others, basic: ['root', 'root-secret'] })
          assert.ok(answer.status >= 400 && answer.status < 500, `${path} ${name}: ${answer.status} ${answer.text}`)
        }
        for (const { name, schema, required } of parametersIn(operation, 'query')) {
          if (!required) continue
          assert.ok('minLength' in schema || 'enum' in schema, `${path} ${name}`)
          if (path === '/oauth/authorize') continue // UAA: the user signs in first
          const others = Object.fromEntries(
            parametersIn(operation, 'query').flatMap(each => (each.required ? [[each.name, 'x']] : [])),
          )
          const query = new URLSearchParams({ ...others, [name]: '' }).toString()
          const answer = await send(method, `${path}?${query}`)
          assert.ok(answer.status >= 400 && answer.status < 500, `${path} ${name}: ${answer.status} ${answer.text}`)
        }
      }
    })

    it('agree on query parameters', async () => {
      const problems: string[] = []
      const places = placesOf(api).filter(
        ({ method, path }) => method === 'GET' && /^\/(oauth\/clients|identity|info|approvals|Users|Groups)/.test(path),
      )
      for (const { path, operation } of places.filter(place => !place.path.includes('{'))) {
        for (const parameter of parametersIn(operation, 'query')) {
          for (const { text, isValid } of parameterCases(parameter)) {
            const answer = await send('GET', `${path}?${new URLSearchParams({ [parameter.name]: text }).toString()}`)
            const agrees = isValid
              ? answer.status < 400 || answer.status === 404 || RULES.some(rule => rule.test(answer.text))
              : answer.status >= 400
            if (agrees && answer.status < 500) continue
            const reported = `${answer.status} ${answer.text.slice(0, 120)}`
            problems.push(`${path}?${parameter.name}=${text} ${isValid ? 'valid' : 'invalid'}: ${reported}`)
          }
          const twice = await send('GET', `${path}?${parameter.name}=1&${parameter.name}=1`)
          // UAA: the first one counts (row A3).
          if (mode === 'standard' && path !== '/info')
            assert.equal(twice.status, 400, `${path}?${parameter.name} twice`)
        }
      }
      assert.deepEqual(problems, [])
    })
  })
}
