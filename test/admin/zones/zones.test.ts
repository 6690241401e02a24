import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { after, before, describe, it } from 'node:test'
import type { Client } from '../../../src/model/clients/client.ts'
import { restrictedScopes } from '../../../src/model/tokens/restricted-scopes.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { standardDefaultGroups } from '../../../src/model/zones/zone.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import type { ZoneAnswer } from '../../support/zones.ts'
import { caller, CALLERS, HOST_OF_Z1, isStatusAlone, sendJson, startZoneServer, tokenOf } from '../../support/zones.ts'
import { groupNamesOf } from '../../support/group-names.ts'

type Caller = keyof typeof CALLERS

const rights = restrictedScopes(serviceNamed('svc')).filter(scope => !scope.startsWith('zones.'))

/** Requests with the tokens of the callers of one server. */
class Wire {
  readonly server: TestServer
  readonly #tokens = new Map<string, string>()
  constructor(server: TestServer) {
    this.server = server
  }

  async token(caller: Caller, host?: string): Promise<string> {
    const key = `${caller} ${host}`
    const token = this.#tokens.get(key) ?? (await tokenOf(this.server, caller, host))
    this.#tokens.set(key, token)
    return token
  }

  async send(method: string, path: string, body?: unknown, caller: Caller = 'writer', request: TestRequest = {}) {
    const bearer = await this.token(caller, request.host)
    return sendJson(this.server, method, path, body, { bearer, ...request })
  }

  /** Creates a zone and returns it. */
  async create(body: object, caller: Caller = 'writer'): Promise<ZoneAnswer> {
    const answer = await this.send('POST', '/identity-zones', body, caller)
    assert.equal(answer.status, 201, answer.text)
    return answer.json<ZoneAnswer>()
  }
}

const INSIDE = { headers: { 'x-identity-zone-id': 'z1' } }

for (const mode of MODES) {
  /** The status, and the error code if it adds to it. */
  const reported = (answer: TestAnswer): string => {
    if (isStatusAlone(answer, mode)) return `${answer.status} empty`
    const error = answer.json()['error']
    return `${answer.status} ${typeof error === 'string' ? error : 'record'}`
  }

  describe(`/identity-zones in ${mode}`, () => {
    let wire: Wire
    before(async () => {
      wire = new Wire(await startZoneServer({ mode }))
    })
    after(async () => {
      assert.deepEqual(wire.server.faults, [])
      await wire.server.stop()
    })

    describe('authorization', () => {
      interface Access {
        readonly name: string
        readonly method: string
        readonly path: string
        readonly body?: object
        /** Callers of the default zone, without and with a header for z1. */
        readonly here: readonly Caller[]
        readonly inside: readonly Caller[]
        /** Callers of z1 at its own host. */
        readonly ofZone: readonly Caller[]
        /** The response to authorized callers. */
        readonly want: { readonly here: string; readonly inside: string; readonly ofZone?: string }
      }
      const switching: ReadonlySet<Caller> = new Set(['root', 'admin-of-z1', 'reader-of-z1'])
      const all = Object.keys(CALLERS) as readonly Caller[] // the keys of a literal
      const table: readonly Access[] = [
        // Covers GET /identity-zones: rule: scopes
        {
          name: 'list zones',
          method: 'GET',
          path: '/identity-zones',
          here: ['root', 'reader', 'writer', 'admin-here'],
          inside: ['root', 'admin-of-z1'],
          ofZone: ['root', 'writer'],
          want: { here: '200 record', inside: '200 record', ofZone: '200 record' },
        },
        {
          name: 'read a zone',
          method: 'GET',
          path: '/identity-zones/z1',
          here: ['root', 'reader', 'writer', 'admin-here', 'reader-here'],
          inside: ['root', 'admin-of-z1', 'reader-of-z1'],
          ofZone: ['root', 'writer'],
          want: { here: '200 record', inside: '200 record', ofZone: '200 record' },
        },
        // Covers POST /identity-zones: error: inside another zone
        {
          name: 'create a zone',
          method: 'POST',
          path: '/identity-zones',
          body: { subdomain: 'one', name: 'taken' },
          here: ['root', 'writer', 'admin-here'],
          inside: ['root', 'admin-of-z1'],
          ofZone: [],
          want: { here: '409 zone_exists', inside: '403 empty' },
        },
        {
          name: 'change a zone',
          method: 'PUT',
          path: '/identity-zones/z1',
          body: { subdomain: 'one', name: 'Zone 1' },
          here: ['root', 'writer', 'admin-here'],
          inside: ['root', 'admin-of-z1'],
          ofZone: ['root', 'writer'],
          want: { here: '200 record', inside: '200 record', ofZone: '200 record' },
        },
        {
          name: 'delete a zone',
          method: 'DELETE',
          path: '/identity-zones/unknown',
          here: ['root', 'writer', 'admin-here'],
          inside: ['root', 'admin-of-z1'],
          ofZone: [],
          want: { here: '404 empty', inside: '403 empty' },
        },
        {
          name: 'create a client in a zone',
          method: 'POST',
          path: '/identity-zones/unknown/clients',
          body: {},
          here: ['root', 'writer'],
          inside: ['root'],
          ofZone: [],
          want: { here: '404 empty', inside: '403 empty' },
        },
        {
          name: 'delete a client of a zone',
          method: 'DELETE',
          path: '/identity-zones/unknown/clients/app',
          here: ['root', 'writer'],
          inside: ['root'],
          ofZone: [],
          want: { here: '404 empty', inside: '403 empty' },
        },
      ]
      for (const { name, method, path, body, here, inside, ofZone, want } of table) {
        for (const caller of all) {
          it(`${here.includes(caller) ? 'allows' : 'forbids'} ${CALLERS[caller]} to ${name}`, async () => {
            const answer = await wire.send(method, path, body, caller)
            assert.equal(reported(answer), here.includes(caller) ? want.here : '403 insufficient_scope')
          })
          it(`${inside.includes(caller) ? 'allows' : 'forbids'} ${CALLERS[caller]} to ${name} inside z1`, async () => {
            const answer = await wire.send(method, path, body, caller, INSIDE)
            const refusal = switching.has(caller) ? '403 insufficient_scope' : '403 access_denied'
            assert.equal(reported(answer), inside.includes(caller) ? want.inside : refusal)
          })
          it(`${ofZone.includes(caller) ? 'allows' : 'forbids'} ${CALLERS[caller]} of z1 to ${name}`, async () => {
            const answer = await wire.send(method, path, body, caller, { host: HOST_OF_Z1 })
            assert.equal(reported(answer), ofZone.includes(caller) ? want.ofZone : '403 insufficient_scope')
          })
        }
        it(`requires a token to ${name}`, async () => {
          assert.equal(reported(await sendJson(wire.server, method, path, body)), '401 unauthorized')
        })
        it(`rejects a token of another zone to ${name}`, async () => {
          const bearer = await wire.token('root', HOST_OF_Z1)
          assert.equal(reported(await sendJson(wire.server, method, path, body, { bearer })), '401 invalid_token')
        })
      }

      it('names the required scopes', async () => {
        const scopeOf = async (method: string, path: string) =>
          (await wire.send(method, path, undefined, 'other')).json()['scope']
        assert.equal(await scopeOf('GET', '/identity-zones'), 'svc.admin zones.write zones.read zones.svc.admin')
        assert.equal(await scopeOf('DELETE', '/identity-zones/z1'), 'svc.admin zones.write zones.svc.admin')
      })
    })

    describe('GET', () => {
      // Covers GET /identity-zones: response: array
      it('returns all zones in the default zone, and only the zone itself in another', async () => {
        const ids = async (request?: TestRequest): Promise<readonly string[]> =>
          (await wire.send('GET', '/identity-zones', undefined, 'root', request))
            .json<ZoneAnswer[]>()
            .map(({ id }) => id)
        const everywhere = await ids()
        for (const id of ['svc', 'z1', 'z2', 'off']) assert.ok(everywhere.includes(id), id)
        assert.deepEqual(await ids(INSIDE), ['z1'])
        assert.deepEqual(await ids({ host: HOST_OF_Z1 }), ['z1'])
      })

      it('returns the default zone with its name and an empty subdomain', async () => {
        const zone = (await wire.send('GET', '/identity-zones/svc')).json<ZoneAnswer>()
        assert.deepEqual([zone.id, zone.subdomain, zone.name, zone.active], ['svc', '', 'svc', true])
      })

      it('returns inactive zones by id', async () => {
        assert.equal((await wire.send('GET', '/identity-zones/off')).json()['active'], false)
      })

      for (const id of ['unknown', 'Z1', '%20', 'a.b', '%00', '%ef%bf%bd', 'one']) {
        // Covers error body families: E5 empty
        // Covers GET /identity-zones/{id}: error: not found
        it(`answers an empty 404 for ${id}`, async () => {
          assert.equal(reported(await wire.send('GET', `/identity-zones/${id}`)), '404 empty')
        })
      }

      it('answers 404 for other zones from inside one', async () => {
        for (const id of ['z2', 'svc', 'unknown']) {
          assert.equal(
            reported(await wire.send('GET', `/identity-zones/${id}`, undefined, 'root', INSIDE)),
            '404 empty',
          )
        }
      })

      // Covers GET /identity-zones/{id}: rule: zones.{id}.read sees no policy
      it('omits policies for callers with only zones.{id}.read', async () => {
        const parts = async (caller: Caller, request?: TestRequest) => {
          const answer = await wire.send('GET', '/identity-zones/z1', undefined, caller, request)
          const { config } = answer.json<ZoneAnswer>()
          return ['tokenPolicy', 'samlConfig', 'corsPolicy', 'links'].map(name => name in config)
        }
        assert.deepEqual(await parts('reader-of-z1', INSIDE), [false, false, true, true])
        assert.deepEqual(await parts('reader-here'), [false, false, true, true])
        assert.deepEqual(await parts('admin-of-z1', INSIDE), [true, true, true, true])
        assert.deepEqual(await parts('root', INSIDE), [true, true, true, true])
        assert.deepEqual(await parts('reader'), [true, true, true, true])
      })
    })

    describe('POST', () => {
      // Covers Zone record: id; subdomain; name; description; created; last_modified
      // Covers POST /identity-zones: body
      it('returns the zone with dates, an id and a lower-case subdomain', async () => {
        const now = wire.server.clock.now().getTime()
        const zone = await wire.create({
          subdomain: 'Acme-1',
          name: 'Acme',
          description: 'A zone',
          created: 1,
          last_modified: 'yesterday',
          unknown: true,
        })
        assert.match(zone.id, /^[0-9a-f]{8}-[0-9a-f-]{27}$/)
        const { config: _, ...record } = zone
        assert.deepEqual(record, {
          id: zone.id,
          subdomain: 'acme-1',
          name: 'Acme',
          description: 'A zone',
          version: 0,
          active: true,
          created: now,
          last_modified: now,
        })
        assert.deepEqual((await wire.send('GET', `/identity-zones/${zone.id}`)).json<ZoneAnswer>(), zone)
      })

      it('trims the id, accepts version and active, and treats a null description as absent', async () => {
        const { config: _, ...zone } = await wire.create({
          id: ' spaced ',
          subdomain: 'spaced',
          name: 'x',
          description: null,
          version: 7,
          active: false,
        })
        assert.deepEqual([zone.id, zone.version, zone.active], ['spaced', 7, false])
        assert.ok(!('description' in zone))
      })

      // Covers group rules: system groups of a new zone
      // Covers POST /identity-zones: rule: internal provider and groups are created
      it('creates the internal provider, default groups and a group for every right', async () => {
        const { id } = await wire.create({ subdomain: 'grouped', name: 'x' })
        const provider = await wire.server.store.providers.findByOrigin(id, 'svc')
        assert.deepEqual([provider?.type, provider?.name, provider?.active, provider?.config], ['svc', 'svc', true, {}])
        const names = await groupNamesOf(wire.server.store, id)
        assert.deepEqual(names.toSorted(), [...new Set([...standardDefaultGroups('svc'), ...rights])].toSorted())
      })

      // Covers Zone config in effect: userConfig.allowedGroups
      it('creates only allowed groups', async () => {
        const userConfig = { defaultGroups: ['openid', 'own'], allowedGroups: ['scim.read', 'never.made'] }
        const { id } = await wire.create({ subdomain: 'strict', name: 'x', config: { userConfig } })
        const names = await groupNamesOf(wire.server.store, id)
        assert.deepEqual(names.toSorted(), ['openid', 'own', 'scim.read'])
      })

      it('serves the zone immediately', async () => {
        await wire.create({ id: 'served', subdomain: 'served', name: 'The served one' })
        const info = await wire.server.send('/info', { host: 'served.localhost:8080' })
        assert.equal(info.json()['zone_name'], 'The served one')
        const inside = { headers: { 'x-identity-zone-id': 'served' } }
        assert.equal((await wire.send('GET', '/identity-zones/served', undefined, 'root', inside)).status, 200)
      })

      // Covers audit trail: IdentityZoneCreatedEvent
      it('is recorded in the audit log', async () => {
        const { id } = await wire.create({ subdomain: 'audited', name: 'x' })
        const event = wire.server.events.findLast(({ type }) => type === 'IdentityZoneCreatedEvent')
        assert.deepEqual([event?.zoneId, event?.principal, event?.clientId], ['svc', id, 'writer'])
        assert.match(event?.data ?? '', /audited/)
      })

      const taken = [
        { name: 'an id', body: { id: 'z1', subdomain: 'free-1', name: 'x' } },
        { name: 'the id of the default zone', body: { id: 'svc', subdomain: 'free-2', name: 'x' } },
        { name: 'a subdomain', body: { subdomain: 'one', name: 'x' } },
        { name: 'a subdomain in upper case', body: { subdomain: 'ONE', name: 'x' } },
      ]
      for (const { name, body } of taken) {
        // Covers POST /identity-zones: error: zone_exists
        it(`rejects ${name} that is taken`, async () => {
          for (const _ of [1, 2]) {
            const answer = await wire.send('POST', '/identity-zones', body)
            assert.equal(reported(answer), '409 zone_exists')
            assert.ok(String(answer.json()['error_description']).length > 10)
          }
        })
      }

      it('creates a zone once if requests are concurrent', async () => {
        const body = { id: 'twin', subdomain: 'twin', name: 'x' }
        const answers = await Promise.all([1, 2].map(() => wire.send('POST', '/identity-zones', body)))
        assert.deepEqual(answers.map(({ status }) => `${status}`).toSorted(), ['201', '409'])
      })

      const SUBDOMAIN = 'The subdomain must be provided.'
      const NAME = 'The identity zone must be given a name.'
      const invalid: readonly { name: string; body: object; text: string | RegExp }[] = [
        { name: 'an empty object', body: {}, text: `${SUBDOMAIN}\r\n${NAME}` },
        { name: 'null members', body: { subdomain: null, name: null }, text: `${SUBDOMAIN}\r\n${NAME}` },
        { name: 'blank members', body: { subdomain: ' ', name: '\t' }, text: `${SUBDOMAIN}\r\n${NAME}` },
        // Covers POST /identity-zones: error: invalid_identity_zone
        { name: 'no subdomain', body: { name: 'x' }, text: SUBDOMAIN },
        { name: 'no name', body: { subdomain: 'x' }, text: NAME },
        ...[
          'a.b',
          'x.clients',
          '*',
          'a*b',
          'a/b',
          'a\\b',
          'a b',
          'a\tb',
          'a\u0001b',
          'a"b',
          'zöne',
          'a\u2028b',
          'x'.repeat(37),
        ].map(id => ({
          name: `the id ${JSON.stringify(id)}`,
          body: { id, subdomain: 'x1', name: 'x' },
          text: /^The id must/,
        })),
        ...[
          'a b',
          ' a',
          'a/b',
          'a:b',
          'a@b',
          'a#b',
          'a?b',
          'a\\b',
          '*',
          'a..b',
          '.a',
          'a.',
          '-a',
          'a-',
          'zöne',
          'a%62',
          'x'.repeat(64),
          `${'x.'.repeat(128)}x`,
        ].map(subdomain => ({
          name: `the subdomain ${JSON.stringify(subdomain)}`,
          body: { subdomain, name: 'x' },
          text: /^The subdomain must be made/,
        })),
        { name: 'a long name', body: { subdomain: 'x1', name: 'x'.repeat(256) }, text: /^The name must have/ },
      ]
      for (const { name, body, text } of invalid) {
        it(`refuses ${name}`, async () => {
          const answer = await wire.send('POST', '/identity-zones', body)
          assert.equal(reported(answer), '422 invalid_identity_zone')
          const description = String(answer.json()['error_description'])
          if (typeof text === 'string') assert.equal(description, text)
          else assert.match(description, text)
        })
      }

      it('accepts an id, subdomain and name of maximum length', async () => {
        const labels = `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(63)}`
        const zone = await wire.create({ id: 'i'.repeat(36), subdomain: labels, name: 'ñ'.repeat(255) })
        assert.equal(zone.subdomain, labels)
      })

      const malformed: readonly { name: string; body: unknown }[] = [
        { name: 'invalid JSON', body: '{"subdomain":' },
        { name: 'no body', body: '' },
        { name: 'a list', body: [] },
        { name: 'null', body: 'null' },
        { name: '__proto__', body: '{"__proto__":{},"subdomain":"p","name":"p"}' },
        { name: 'deep nesting', body: `{"x":${'['.repeat(100)}${']'.repeat(100)}}` },
        ...['id', 'subdomain', 'name', 'description'].flatMap(member =>
          [1, true, [], {}].map(value => ({
            name: `${member} ${JSON.stringify(value)}`,
            body: { subdomain: 'm', name: 'm', [member]: value },
          })),
        ),
        ...[-1, 1.5, '1', true, 2 ** 31, 1e300].map(version => ({
          name: `version ${JSON.stringify(version)}`,
          body: { subdomain: 'm', name: 'm', version },
        })),
        ...['true', 1, []].map(active => ({
          name: `active ${JSON.stringify(active)}`,
          body: { subdomain: 'm', name: 'm', active },
        })),
        ...[null, 1, 'x', []].map(config => ({
          name: `config ${JSON.stringify(config)}`,
          body: { subdomain: 'm', name: 'm', config },
        })),
        { name: 'a NUL character', body: { subdomain: 'm', name: 'a\0b' } },
        { name: 'a lone surrogate', body: '{"subdomain":"m","name":"\\ud800"}' },
        {
          name: 'a nested NUL character',
          body: { subdomain: 'm', name: 'm', config: { userConfig: { defaultGroups: ['\0'] } } },
        },
      ]
      for (const { name, body } of malformed) {
        // Covers POST /identity-zones: error: malformed JSON
        it(`refuses ${name} as malformed`, async () => {
          assert.equal(reported(await wire.send('POST', '/identity-zones', body)), '400 invalid_request')
        })
      }

      it('rejects other content types and encodings', async () => {
        const send = (headers: Readonly<Record<string, string>>, body: string | Buffer) =>
          wire.server.send('/identity-zones', { method: 'POST', headers, body, bearer })
        const bearer = await wire.token('writer')
        const json = '{"subdomain":"m","name":"m"}'
        assert.equal((await send({ 'content-type': 'application/x-www-form-urlencoded' }, 'name=m')).status, 400)
        assert.equal((await send({ 'content-type': 'text/plain' }, json)).status, 400)
        const latin = Buffer.from('{"subdomain":"m","name":"\xfc"}', 'latin1')
        assert.equal((await send({ 'content-type': 'application/json' }, latin)).status, 400)
      })

      it('accepts logos up to 1 MB', async () => {
        const body = (bytes: number) => ({
          subdomain: 'logo',
          name: 'x',
          config: { branding: { productLogo: 'A'.repeat(bytes) } },
        })
        assert.equal((await wire.send('POST', '/identity-zones', body(1_000_000))).status, 201)
        assert.equal((await wire.send('POST', '/identity-zones', body(1_100_000))).status, 413)
      })
    })

    describe('PUT', () => {
      // Covers Zone record: version
      // Covers PUT /identity-zones/{id}: body
      it('replaces the zone, and increments the version of the body', async () => {
        const { id, created } = await wire.create({
          subdomain: 'before',
          name: 'Before',
          description: 'x',
          active: false,
          config: { idpDiscoveryEnabled: true, userConfig: { maxUsers: 5 } },
        })
        wire.server.clock.advance(60)
        const answer = await wire.send('PUT', `/identity-zones/${id}`, {
          subdomain: 'After',
          name: 'After',
          version: 4,
        })
        assert.equal(answer.status, 200, answer.text)
        const zone = answer.json<ZoneAnswer>()
        assert.deepEqual([zone.subdomain, zone.name, zone.version, zone.active], ['after', 'After', 5, true])
        assert.ok(!('description' in zone))
        assert.equal(zone.config['idpDiscoveryEnabled'], false)
        assert.equal(zone.config['userConfig']?.['maxUsers'], -1)
        assert.equal(zone.created, created)
        assert.equal(zone.last_modified, wire.server.clock.now().getTime())
        assert.deepEqual((await wire.send('GET', `/identity-zones/${id}`)).json<ZoneAnswer>(), zone)
      })

      // Covers Zone record: active
      it('moves the zone to its new subdomain immediately', async () => {
        const { id } = await wire.create({ subdomain: 'moved-from', name: 'x' })
        const status = async (subdomain: string): Promise<number> =>
          (await wire.server.send('/info', { host: `${subdomain}.localhost:8080` })).status
        assert.deepEqual([await status('moved-from'), await status('moved-to')], [200, 404])
        await wire.send('PUT', `/identity-zones/${id}`, { subdomain: 'moved-to', name: 'x' })
        assert.deepEqual([await status('moved-from'), await status('moved-to')], [404, 200])
        await wire.send('PUT', `/identity-zones/${id}`, { subdomain: 'moved-to', name: 'x', active: false })
        assert.equal(await status('moved-to'), 404)
      })

      it('creates missing default groups, and deletes none', async () => {
        const { id } = await wire.create({ subdomain: 'growing', name: 'x' })
        const before = await groupNamesOf(wire.server.store, id)
        const config = { userConfig: { defaultGroups: ['openid', 'added', 'Profile'] } }
        const change = { subdomain: 'growing', name: 'x', config }
        assert.equal((await wire.send('PUT', `/identity-zones/${id}`, change)).status, 200)
        const names = await groupNamesOf(wire.server.store, id)
        assert.deepEqual(names.toSorted(), [...before, 'added'].toSorted())
      })

      // Covers Zone config validation: forbidden groups
      it('rejects allowedGroups that exclude an existing group', async () => {
        const userConfig = { defaultGroups: ['openid'], allowedGroups: ['own'] }
        const { id } = await wire.create({ subdomain: 'closed', name: 'x', config: { userConfig } })
        const put = (allowedGroups: readonly string[], defaultGroups = ['openid']) =>
          wire.send('PUT', `/identity-zones/${id}`, {
            subdomain: 'closed',
            name: 'x',
            config: { userConfig: { defaultGroups, allowedGroups } },
          })
        assert.equal((await put(['own', 'more'])).status, 200)
        assert.equal((await put(['own'], ['openid', 'new'])).status, 200)
        const answer = await put(['own'], ['openid'])
        assert.equal(reported(answer), '422 invalid_identity_zone')
        const text = 'The identity zone user configuration contains not-allowed groups.'
        assert.equal(answer.json()['error_description'], text)
      })

      it('accepts allowedGroups despite implicit groups of users', async () => {
        const zone = { subdomain: 'contacts', name: 'x', config: { userConfig: { allowedGroups: ['own'] } } }
        const { id } = await wire.create(zone)
        const inside = { headers: { 'x-identity-zone-id': id } }
        const user = { userName: 'ada', password: 'correct horse 1', emails: [{ value: 'ada@example.org' }] }
        const made = await wire.send('POST', '/Users', user, 'root', inside)
        assert.equal(made.status, 201, made.text)
        const names = await groupNamesOf(wire.server.store, id)
        assert.equal(names.includes('email'), mode === 'standard')
        const answer = await wire.send('PUT', `/identity-zones/${id}`, { ...zone, name: 'y' })
        assert.equal(answer.status, 200, answer.text)
      })

      // Covers audit trail: IdentityZoneModifiedEvent
      it('is recorded in the audit log', async () => {
        await wire.send('PUT', '/identity-zones/z2', { subdomain: 'two', name: 'Zone 2' })
        const event = wire.server.events.findLast(({ type }) => type === 'IdentityZoneModifiedEvent')
        assert.deepEqual([event?.zoneId, event?.principal, event?.clientId], ['svc', 'z2', 'writer'])
      })

      const good = { subdomain: 'two', name: 'Zone 2' }
      const refusals: readonly { name: string; id: string; body: unknown; want: string; request?: TestRequest }[] = [
        { name: 'the default zone', id: 'svc', body: { subdomain: '', name: 'svc' }, want: '403 empty' },
        { name: 'a zone from inside of another', id: 'z2', body: good, want: '403 empty', request: INSIDE },
        { name: 'the default zone from inside of another', id: 'svc', body: good, want: '403 empty', request: INSIDE },
        // Covers PUT /identity-zones/{id}: error: not found
        { name: 'an unknown zone', id: 'unknown', body: good, want: '404 empty' },
        // Covers PUT /identity-zones/{id}: error: name or subdomain missing
        { name: 'a zone without a name', id: 'z2', body: { subdomain: 'two' }, want: '400 empty' },
        { name: 'a zone with a blank name', id: 'z2', body: { subdomain: 'two', name: ' ' }, want: '400 empty' },
        { name: 'a zone without a subdomain', id: 'z2', body: { name: 'x' }, want: '400 empty' },
        // Covers PUT /identity-zones/{id}: error: zone_exists
        { name: 'a subdomain that is taken', id: 'z2', body: { subdomain: 'ONE', name: 'x' }, want: '409 zone_exists' },
        { name: 'another id', id: 'z2', body: { ...good, id: 'z1' }, want: '422 invalid_identity_zone' },
        { name: 'a bad subdomain', id: 'z2', body: { subdomain: 'a b', name: 'x' }, want: '422 invalid_identity_zone' },
        { name: 'the highest version', id: 'z2', body: { ...good, version: 2 ** 31 - 1 }, want: '400 invalid_request' },
        { name: 'config null', id: 'z2', body: { ...good, config: null }, want: '400 invalid_request' },
        { name: 'invalid JSON', id: 'z2', body: '{', want: '400 invalid_request' },
        { name: 'no body', id: 'z2', body: '', want: '400 invalid_request' },
      ]
      for (const { name, id, body, want, request } of refusals) {
        // Covers PUT /identity-zones/{id}: error: default zone
        it(`rejects ${name} without a change`, async () => {
          const before = await wire.server.store.zones.list({ count: 100 })
          assert.equal(reported(await wire.send('PUT', `/identity-zones/${id}`, body, 'root', request)), want)
          assert.deepEqual(await wire.server.store.zones.list({ count: 100 }), before)
        })
      }

      // Covers PUT /identity-zones/{id}: error: invalid_identity_zone
      it('reports an id that differs from the path', async () => {
        const answer = await wire.send('PUT', '/identity-zones/z2', { ...good, id: 'z1' })
        const text = 'The identity zone id from the request body does not match id in the url'
        assert.equal(answer.json()['error_description'], text)
      })

      it('answers 409 to conflicting concurrent changes', async () => {
        const { id } = await wire.create({ subdomain: 'busy', name: 'x' })
        const answers = await Promise.all(
          ['a', 'b', 'c', 'd'].map(name => wire.send('PUT', `/identity-zones/${id}`, { subdomain: 'busy', name })),
        )
        const statuses = answers.map(({ status }) => status)
        assert.ok(statuses.includes(200))
        assert.ok(statuses.every(status => status === 200 || status === 409))
        const zone = (await wire.send('GET', `/identity-zones/${id}`)).json<ZoneAnswer>()
        assert.ok(answers.some(answer => answer.status === 200 && answer.json()['name'] === zone.name))
      })
    })

    describe('DELETE', () => {
      // Covers DELETE /identity-zones/{id}: response: zone; error: not found
      it('returns the zone, which no longer exists', async () => {
        const zone = await wire.create({ id: 'doomed', subdomain: 'doomed', name: 'x' })
        const answer = await wire.send('DELETE', '/identity-zones/doomed')
        assert.equal(answer.status, 200)
        assert.deepEqual(answer.json<ZoneAnswer>(), zone)
        assert.equal(reported(await wire.send('DELETE', '/identity-zones/doomed')), '404 empty')
        assert.equal(reported(await wire.send('GET', '/identity-zones/doomed')), '404 empty')
        assert.equal((await wire.server.send('/info', { host: 'doomed.localhost:8080' })).status, 404)
        const event = wire.server.events.findLast(({ type }) => type === 'EntityDeletedEvent')
        assert.deepEqual([event?.zoneId, event?.principal, event?.clientId], ['svc', 'doomed', 'writer'])
      })

      it('is recorded in the audit log of the default zone, even from inside the zone', async () => {
        const id = 'gone-inside'
        await wire.create({ id, subdomain: id, name: 'x' })
        const headers = { 'x-identity-zone-id': id }
        assert.equal((await wire.send('DELETE', `/identity-zones/${id}`, undefined, 'root', { headers })).status, 200)
        const event = wire.server.events.findLast(({ type }) => type === 'EntityDeletedEvent')
        assert.deepEqual([event?.zoneId, event?.principal, event?.clientId], ['svc', id, 'root'])
      })

      it('records clients that lose rights in the zone', async () => {
        const { store } = wire.server
        await wire.create({ id: 'lost', subdomain: 'lost', name: 'x' })
        const authorities = ['clients.read', 'zones.lost.admin', 'zones.lost.clients.read']
        const administrator = { ...(await store.clients.find('svc', 'writer')), clientId: 'of-lost', authorities }
        await store.clients.insert('svc', administrator as Client)
        const from = wire.server.events.length
        assert.equal((await wire.send('DELETE', '/identity-zones/lost')).status, 200)
        assert.deepEqual(
          wire.server.events
            .slice(from)
            .map(({ type, zoneId, principal, clientId }) => [type, zoneId, principal, clientId]),
          [
            ['EntityDeletedEvent', 'svc', 'lost', 'writer'],
            ['ClientUpdateSuccess', 'svc', 'of-lost', 'writer'],
          ],
        )
        assert.match(wire.server.events.at(-1)?.data ?? '', /authorities=\[clients\.read\]$/)
      })

      it('records users that lose groups for the zone', async () => {
        const { groups } = wire.server.store
        await wire.create({ id: 'left', subdomain: 'left', name: 'x' })
        const at = new Date(0)
        const group = { zoneId: 'svc', id: 'of-left', displayName: 'zones.left.admin', version: 0 }
        const other = { ...group, id: 'of-lefty', displayName: 'zones.lefty.admin' }
        for (const each of [group, other]) await groups.insert('svc', { ...each, createdAt: at, updatedAt: at })
        const members = Array.from({ length: 21 }, (_, index) => `member-${String(index).padStart(2, '0')}`)
        for (const memberId of members) {
          for (const { id: groupId } of [group, other])
            await groups.addMember('svc', { groupId, memberId, memberType: 'USER', origin: 'svc' })
        }
        const from = wire.server.events.length
        assert.equal((await wire.send('DELETE', '/identity-zones/left')).status, 200)
        const events = wire.server.events.slice(from)
        assert.deepEqual(
          events.map(({ type, zoneId, principal, clientId }) => [type, zoneId, principal, clientId]),
          [
            ['EntityDeletedEvent', 'svc', 'left', 'writer'],
            ['GroupModifiedEvent', 'svc', 'of-left', 'writer'],
            ['GroupModifiedEvent', 'svc', 'of-left', 'writer'],
            ['GroupDeletedEvent', 'svc', 'of-left', 'writer'],
          ],
        )
        const named = events.flatMap(({ data = '' }) => data.match(/member-\d\d/g) ?? [])
        assert.deepEqual(named.toSorted(), members)
        assert.deepEqual(events.at(-1)?.data, '["group_name=zones.left.admin"]')
      })

      // Covers DELETE /identity-zones/{id}: rule: everything of the zone goes
      it('revokes all tokens of the zone, even if its id is reused', async () => {
        const body = { id: 'reborn', subdomain: 'reborn', name: 'x' }
        await wire.create(body)
        const client = {
          client_id: 'app',
          client_secret: 'secret',
          authorized_grant_types: ['client_credentials'],
          scope: ['openid'],
          authorities: ['svc.resource'],
          allowedproviders: ['svc'],
        }
        const host = 'reborn.localhost:8080'
        const make = () => wire.send('POST', '/identity-zones/reborn/clients', client)
        assert.equal((await make()).status, 201)
        const request = { basic: ['app', 'secret'] as const, host }
        const token = await wire.server.token({ grant_type: 'client_credentials' }, request)
        const { access_token: bearer } = token.json<{ access_token: string }>()
        const introspect = async () =>
          (await wire.server.send('/introspect', { form: { token: bearer }, ...request })).json()['active']
        assert.equal(await introspect(), true)
        await wire.send('DELETE', '/identity-zones/reborn')
        await wire.create(body)
        assert.equal((await wire.server.token({ grant_type: 'client_credentials' }, request)).status, 401)
        assert.equal((await make()).status, 201)
        assert.equal(await introspect(), false)
      })

      it('revokes rights in the zone, even if its id is reused', async () => {
        const body = { id: 'remade', subdomain: 'remade', name: 'Remade' }
        await wire.create(body)
        const former = caller('former', 'clients.read', 'zones.remade.admin')
        assert.equal((await wire.send('POST', '/oauth/clients', former, 'root')).status, 201)
        const inside = { headers: { 'x-identity-zone-id': 'remade' } }
        const list = (bearer: string) => wire.server.send('/Users', { bearer, ...inside })
        const bearer = await tokenOf(wire.server, 'former')
        assert.equal((await list(bearer)).status, 200)
        assert.equal((await wire.send('DELETE', '/identity-zones/remade')).status, 200)
        await wire.create(body)
        assert.equal((await list(bearer)).status, 401)
        assert.equal((await list(await tokenOf(wire.server, 'former'))).status, 403)
        const after = (await wire.send('GET', '/oauth/clients/former', undefined, 'root')).json()
        assert.deepEqual(after['authorities'], ['clients.read'])
        assert.equal((await wire.send('DELETE', '/oauth/clients/former', undefined, 'root')).status, 200)
      })

      // The body of an authorized request may arrive after the deletion.
      for (const { name, again } of [
        { name: 'the deleted zone', again: false },
        { name: 'a new zone with the same id', again: true },
      ]) {
        it(`rejects writes of an earlier request to ${name}`, async () => {
          const id = `slow-${again}`
          const record = { id, subdomain: id, name: 'x' }
          await wire.create(record)
          const inside = { headers: { 'x-identity-zone-id': id } }
          const former = caller('former', 'clients.admin')
          assert.equal((await wire.send('POST', '/oauth/clients', former, 'root', inside)).status, 201)
          const { server } = wire
          const host = `${id}.localhost:8080`
          const bearer = await tokenOf(server, 'former', host)
          const body = new PassThrough()
          const isRead = new Promise<void>(resolve =>
            body.on('newListener', event => {
              if (event === 'readable') resolve()
            }),
          )
          const created = server.app.http.inject({
            method: 'POST',
            url: '/oauth/clients',
            headers: { host, authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
            payload: body,
          })
          body.write('{"client_id": "late",')
          await isRead // the caller has been authorized
          assert.equal((await wire.send('DELETE', `/identity-zones/${id}`)).status, 200)
          server.clock.advance(1)
          if (again) await wire.create(record)
          body.end('"client_secret": "x", "authorized_grant_types": ["client_credentials"], "authorities": []}')
          assert.equal((await created).statusCode, 404)
          assert.equal(await server.store.clients.find(id, 'late'), undefined)
        })
      }

      // Covers DELETE /identity-zones/{id}: error: provider with an alias
      it('is rejected if a provider has an alias', async () => {
        await wire.create({ id: 'aliased', subdomain: 'aliased', name: 'x' })
        const { providers } = wire.server.store
        const provider = await providers.findByOrigin('aliased', 'svc')
        assert.ok(provider)
        const copy = { ...provider, id: 'copy', originKey: 'corp', type: 'saml', aliasId: 'x', aliasZoneId: 'svc' }
        await providers.insert('aliased', copy)
        for (const _ of [1, 2])
          assert.equal(reported(await wire.send('DELETE', '/identity-zones/aliased')), '422 empty')
        assert.equal((await wire.send('GET', '/identity-zones/aliased')).status, 200)
      })

      it('deletes a zone from inside of it', async () => {
        await wire.create({ id: 'own', subdomain: 'own', name: 'x' })
        const inside = { headers: { 'x-identity-zone-id': 'own' } }
        assert.equal((await wire.send('DELETE', '/identity-zones/own', undefined, 'root', inside)).status, 200)
      })

      it('deletes an inactive zone', async () => {
        await wire.create({ id: 'sleeping', subdomain: 'sleeping', name: 'x', active: false })
        assert.equal((await wire.send('DELETE', '/identity-zones/sleeping')).status, 200)
      })

      it('deletes once if requests are concurrent', async () => {
        await wire.create({ id: 'contested', subdomain: 'contested', name: 'x' })
        const answers = await Promise.all([1, 2].map(() => wire.send('DELETE', '/identity-zones/contested')))
        assert.deepEqual(answers.map(({ status }) => `${status}`).toSorted(), ['200', '404'])
      })

      for (const { name, id, want, request } of [
        { name: 'the default zone', id: 'svc', want: '403 empty', request: {} },
        { name: 'another zone than that of the request', id: 'z2', want: '403 empty', request: INSIDE },
        { name: 'the default zone from inside of another', id: 'svc', want: '403 empty', request: INSIDE },
        { name: 'an unknown zone', id: 'unknown', want: '404 empty', request: {} },
        { name: 'a wildcard', id: '%25', want: '404 empty', request: {} },
      ]) {
        // Covers DELETE /identity-zones/{id}: error: default zone
        it(`does not delete ${name}`, async () => {
          const before = await wire.server.store.zones.list({ count: 100 })
          assert.equal(reported(await wire.send('DELETE', `/identity-zones/${id}`, undefined, 'root', request)), want)
          assert.deepEqual(await wire.server.store.zones.list({ count: 100 }), before)
        })
      }
    })
  })
}
