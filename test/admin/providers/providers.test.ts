import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createRandom } from '../../../src/base/random.ts'
import { createVault } from '../../../src/base/secrets.ts'
import { openProviderSecrets } from '../../../src/providers/provider-secrets.ts'
import { MODES } from '../../support/oauth.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import type { Members, ProviderAnswer } from '../../support/provider-api.ts'
import { ldap, oidc, providerApi, providerBootstrap, saml, SECRET_MARK } from '../../support/provider-api.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

const vault = createVault(Buffer.alloc(32, 7), createRandom())

for (const mode of MODES) {
  describe(`/identity-providers in ${mode}`, () => {
    let server: TestServer
    const api = providerApi(() => server)
    before(async () => {
      server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      api.assertNoSecrets()
      await server.stop()
    })

    /** The stored settings, with decrypted secrets. */
    async function kept(originKey: string, zoneId = 'svc'): Promise<Members> {
      const provider = await server.store.providers.findByOrigin(zoneId, originKey)
      assert.ok(provider, `there is no provider ${originKey}`)
      return openProviderSecrets(provider, vault).config
    }
    const put = (id: string, json: unknown): Promise<TestAnswer> => api.call({ method: 'PUT', path: `/${id}`, json })
    const last = () => server.events.findLast(({ type }) => /^(?:IdentityProvider|Entity)/.test(type))

    describe('POST', () => {
      // Covers audit trail: IdentityProviderCreatedEvent
      // Covers Identity provider record: id
      // Covers POST /identity-providers: body
      it('stores the provider, and returns 201 with all members in the order of UAA', async () => {
        const answer = await api.call({ method: 'POST', json: oidc('whole', {}, { version: 7 }) })
        assert.equal(answer.status, 201, answer.text)
        assert.match(String(answer.headers['content-type']), /^application\/json/)
        assert.equal(answer.headers['cache-control'], 'no-store')
        const record = answer.json<ProviderAnswer>()
        assert.deepEqual(Object.keys(record), [
          'type',
          'config',
          'id',
          'originKey',
          'name',
          'version',
          'created',
          'last_modified',
          'active',
          'identityZoneId',
          'aliasId',
          'aliasZid',
        ])
        const now = server.clock.now().getTime()
        const { config, id, ...rest } = record
        assert.match(id, /^[0-9a-f-]{36}$/)
        assert.equal(config['authMethod'], 'client_secret_basic')
        assert.deepEqual(rest, {
          type: 'oidc1.0',
          originKey: 'whole',
          name: 'The whole',
          version: 7,
          created: now,
          last_modified: now,
          active: true,
          identityZoneId: 'svc',
          aliasId: null,
          aliasZid: null,
        })
        assert.deepEqual(await api.read(id), record)
        assert.equal((await kept('whole'))['relyingPartySecret'], `${SECRET_MARK} of whole`)
        assert.deepEqual(last(), {
          type: 'IdentityProviderCreatedEvent',
          zoneId: 'svc',
          principal: id,
          origin: 'whole',
          clientId: 'admin',
          remoteAddress: '127.0.0.1',
          data: 'identity provider whole of type oidc1.0',
        })
      })

      // Covers Identity provider record: created; identityZoneId
      it('ignores read-only and unknown members', async () => {
        const said = { id: 'mine', created: 1, last_modified: 2, identityZoneId: 'z1', unknown: 3 }
        const record = await api.create(oidc('modest', {}, said))
        assert.notEqual(record.id, 'mine')
        assert.equal(record.created, server.clock.now().getTime())
        assert.equal(record.identityZoneId, 'svc')
        assert.equal(Object.hasOwn(record, 'unknown'), false)
      })

      // Covers POST /identity-providers: rawConfig
      // Covers GET /identity-providers: rawConfig
      // Covers GET /identity-providers/{id}: rawConfig
      it('accepts and returns config as a JSON string unless rawConfig is true', async () => {
        const { config, ...rest } = oidc('texts')
        const answer = await api.call({
          method: 'POST',
          json: { ...rest, config: JSON.stringify(config) },
          query: {},
        })
        assert.equal(answer.status, 201, answer.text)
        const record = answer.json<Omit<ProviderAnswer, 'config'> & { config: string }>()
        assert.equal(typeof record.config, 'string')
        assert.deepEqual(JSON.parse(record.config), (await api.read(record.id)).config)
        for (const rawConfig of ['false', 'FALSE', '']) {
          const read = await api.call({ path: `/${record.id}`, query: { rawConfig } })
          assert.deepEqual(read.json(), record, rawConfig)
        }
        for (const rawConfig of ['maybe', 'null']) {
          assert.equal((await api.call({ path: `/${record.id}`, query: { rawConfig } })).status, 400, rawConfig)
        }
      })

      it('treats null as absent', async () => {
        const nothing = { id: null, version: null, active: null, aliasId: null, aliasZid: null, created: null }
        const { version, active } = await api.create(oidc('nulls', { issuer: null, scopes: null }, nothing))
        assert.deepEqual([version, active], [0, true])
      })

      if (mode === 'standard') {
        for (const type of ['oidc', 'oauth2', undefined]) {
          it(`rejects the type ${type} (M15)`, async () => {
            const answer = await api.call({ method: 'POST', json: { ...oidc('mistyped'), type } })
            assert.equal(answer.status, 422, answer.text)
            assert.match(
              String(answer.json()['error_description']),
              /^type must be one of svc, ldap, saml, oauth2.0, oidc1.0/,
            )
          })
        }
      }

      // Covers Identity provider record: type
      it('keeps the config of an unknown type, and hides its secrets', async () => {
        const config = { anything: { goes: [1, null] } }
        const provider = { type: 'carrier-pigeon', originKey: 'pigeon', name: 'Pigeon', config }
        // In standard, only a server in uaa mode can have stored it.
        if (mode === 'standard') {
          const now = server.clock.now()
          const rest = { id: 'pigeon', zoneId: 'svc', active: true, version: 0, createdAt: now, updatedAt: now }
          await server.store.providers.insert('svc', { ...rest, ...provider })
        } else await api.create(provider)
        const record = await api.read((await server.store.providers.findByOrigin('svc', 'pigeon'))?.id ?? '')
        assert.deepEqual(record.config, config)
        const secrets = { secret: 'readable', list: [{ password: 'readable' }] }
        const put = await api.call({
          method: 'PUT',
          path: `/${record.id}`,
          json: { ...record, config: { ...config, ...secrets } },
        })
        assert.deepEqual(Object(put.json()).config, { ...config, list: [{}] })
        if (mode === 'uaa') assert.equal((await api.create({ originKey: 'typeless', name: 'T' })).type, 'unknown')
      })

      // Covers error body families: E6 echo
      // Covers POST /identity-providers: error: origin taken
      it('rejects a taken origin, returning the record without its secrets', async () => {
        await api.create(oidc('taken'))
        const again = oidc('taken', { issuer: 'https://another.example' })
        const answer = await api.call({ method: 'POST', json: again })
        assert.equal(answer.status, 409)
        const { relyingPartySecret: _, ...config } = Object(again['config']) as Members
        const reason = { error: 'invalid_request', error_description: 'the origin is taken' }
        assert.deepEqual(answer.json(), { ...again, config, ...(mode === 'standard' && reason) })
        const asText = await api.call({ method: 'POST', json: again, query: {} })
        const text = JSON.stringify(config)
        assert.deepEqual(asText.json(), { ...again, config: text, ...(mode === 'standard' && reason) })
      })

      it('rejects the issuer of another provider of the same type', async () => {
        await api.create(oidc('issuer-one', { issuer: 'https://shared.example' }))
        const twin = oidc('issuer-two', { issuer: 'https://shared.example' })
        assert.equal((await api.call({ method: 'POST', json: twin })).status, 409)
        // Allowed: the same issuer with another type, and providers without an issuer.
        await api.create({ ...twin, type: 'oauth2.0' })
        await api.create(oidc('nameless-one', { issuer: undefined }))
        await api.create(oidc('nameless-two', { issuer: undefined }))
      })

      // Covers POST /identity-providers: error: duplicate entity id
      it('rejects the entity id of another SAML provider', async () => {
        const { metaDataLocation } = Object(saml('entity')['config']) as Members
        await api.create(saml('entity'))
        const answer = await api.call({ method: 'POST', json: saml('entity-too', { metaDataLocation }) })
        assert.equal(answer.status, 409)
        assert.equal(answer.text, 'Duplicate entity ID:https://entity.example/saml')
        assert.match(String(answer.headers['content-type']), /^text\/plain/)
      })

      const malformed: readonly { name: string; json: unknown }[] = [
        { name: 'invalid JSON', json: '{' },
        { name: 'an array', json: [] },
        { name: 'null', json: 'null' },
        { name: 'a name that is a number', json: oidc('x', {}, { name: 5 }) },
        { name: 'an origin that is a list', json: oidc('x', {}, { originKey: ['x'] }) },
        { name: 'an origin with a NUL', json: oidc('x', {}, { originKey: 'a\0b' }) },
        { name: 'a lone surrogate', json: oidc('x', {}, { name: '\ud800' }) },
        { name: 'a type that is an object', json: oidc('x', {}, { type: {} }) },
        { name: 'a string for active', json: oidc('x', {}, { active: 'yes' }) },
        { name: 'a version that is not a number', json: oidc('x', {}, { version: '1' }) },
        { name: 'a negative version', json: oidc('x', {}, { version: -1 }) },
        { name: 'the highest version', json: oidc('x', {}, { version: 2 ** 31 - 1 }) },
        { name: 'a fractional version', json: oidc('x', {}, { version: 0.5 }) },
        { name: 'an alias zone that is a number', json: oidc('x', {}, { aliasZid: 1 }) },
        { name: '__proto__', json: '{"__proto__":{"x":1}}' },
      ]
      for (const { name, json } of malformed) {
        it(`rejects ${name} with 400`, async () => {
          const answer = await api.call({ method: 'POST', json })
          assert.equal(answer.status, 400, answer.text)
          assert.equal(answer.json()['error'], 'invalid_request')
        })
      }

      it('rejects another content type, a missing body and a body that is too large', async () => {
        const form = await api.call({ method: 'POST', form: { name: 'x' } })
        assert.equal(form.status, 400)
        assert.equal((await api.call({ method: 'POST' })).status, 400)
        const huge = await api.call({ method: 'POST', json: oidc('huge', { linkText: 'x'.repeat(2 ** 20) }) })
        assert.equal(huge.status, 413)
      })

      const unreadable: readonly { name: string; config: unknown }[] = [
        // Covers POST /identity-providers: error: bad config
        { name: 'invalid JSON', config: '{' },
        { name: 'a JSON array', config: '[]' },
        { name: 'a list', config: [] },
        { name: 'a number', config: 1 },
        { name: 'true', config: true },
        { name: 'a JSON number', config: '7' },
        {
          name: 'JSON that is nested too deeply',
          config: `{"additionalConfiguration":${'{"a":'.repeat(40)}1${'}'.repeat(41)}`,
        },
        { name: 'JSON with __proto__', config: '{"__proto__":{}}' },
        { name: 'a member of another type', config: { ...Object(oidc('x')['config']), scopes: 'openid' } },
      ]
      for (const { name, config } of unreadable) {
        it(`rejects ${name} as config`, async () => {
          const answer = await api.call({ method: 'POST', json: { ...oidc('x'), config } })
          assert.equal(answer.status, 400, answer.text)
          const [sentence, reason] = answer.text.split(/(?<=^[^.]*\.)/)
          assert.equal(sentence, 'Invalid provider configuration.')
          assert.match(reason ?? '', mode === 'uaa' ? /^$/ : /^ config(?:\.scopes)? (?:must be|is not)/)
          assert.match(String(answer.headers['content-type']), /^text\/plain/)
        })
      }

      it('does not repeat invalid values in errors', async () => {
        const answer = await api.call({ method: 'POST', json: oidc('x', { relyingPartySecret: [SECRET_MARK] }) })
        const reason = mode === 'uaa' ? '' : ' config.relyingPartySecret must be a string.'
        assert.deepEqual([answer.status, answer.text], [400, `Invalid provider configuration.${reason}`])
      })

      const invalid: readonly { name: string; json: Members }[] = [
        { name: 'without a name', json: oidc('x', {}, { name: undefined }) },
        { name: 'with an empty name', json: oidc('x', {}, { name: '' }) },
        { name: 'with a name that is too long', json: oidc('x', {}, { name: 'x'.repeat(256) }) },
        { name: 'without an origin', json: oidc('x', {}, { originKey: undefined }) },
        { name: 'of SAML without an origin', json: saml('x', {}, { originKey: null }) },
        { name: 'with an origin that is too long', json: oidc('x'.repeat(37)) },
        ...['.', '..', 'a\r\nb', '\u0085'].map(origin => ({
          name: `with the origin ${JSON.stringify(origin)}, which fits in no URL`,
          json: oidc('x', {}, { originKey: origin }),
        })),
        { name: 'of the internal type at another origin', json: { type: 'svc', originKey: 'more', name: 'x' } },
        { name: 'of OpenID Connect at the internal origin', json: oidc('svc') },
        { name: 'of SAML at the origin ldap', json: saml('ldap') },
        { name: 'of LDAP at another origin', json: ldap({}, { originKey: 'directory' }) },
        // Covers POST /identity-providers: error: validation 422
        { name: 'of OpenID Connect without config', json: oidc('x', {}, { config: null }) },
        { name: 'of OpenID Connect with empty config', json: oidc('x', {}, { config: '' }) },
        { name: 'of SAML without config', json: saml('x', {}, { config: undefined }) },
        { name: 'with an alias while aliases are disabled', json: oidc('x', {}, { aliasZid: 'z1' }) },
      ]
      for (const { name, json } of invalid) {
        it(`rejects a provider ${name}, repeating it`, async () => {
          const count = async () => (await server.store.providers.list('svc')).length
          const before = await count()
          const answer = await api.call({ method: 'POST', json })
          assert.equal(answer.status, 422, answer.text)
          assert.equal(answer.json()['type'], json['type'])
          assert.equal(answer.json()['originKey'], json['originKey'])
          assert.equal(typeof answer.json()['error_description'], mode === 'standard' ? 'string' : 'undefined')
          assert.equal(await count(), before)
        })
      }

      it('removes secrets from a rejected record, wherever they are', async () => {
        const secret = `${SECRET_MARK} misplaced`
        const wrong: Members = {
          ...oidc('svc', {
            jwtClientAuthentication: { kid: 'k', key: secret },
            bindPassword: secret,
            additionalAuthzParameters: { client_secret: secret, password: secret },
            additionalConfiguration: { deep: [{ relyingPartySecret: secret }] },
          }),
          relyingPartySecret: secret,
          bindPassword: secret,
          password: secret,
        }
        for (const config of [wrong['config'], JSON.stringify(wrong['config'])]) {
          const answer = await api.call({ method: 'POST', json: { ...wrong, config } })
          assert.equal(answer.status, 422)
          assert.ok(!answer.text.includes(SECRET_MARK), answer.text)
          assert.match(answer.text, /"kid":"k"/)
        }
      })

      it('creates one of several concurrent providers of the same origin', async () => {
        const bearer = (
          await server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'admin-secret'] })
        ).json<{ access_token: string }>().access_token
        const answers = await Promise.all(
          Array.from({ length: 8 }, () => api.call({ method: 'POST', bearer, json: oidc('race') })),
        )
        const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b)
        assert.deepEqual(statuses, [201, ...Array<number>(7).fill(409)])
      })
    })

    describe('built-in providers of UAA', () => {
      const rows = async () => (await api.call({})).json<readonly ProviderAnswer[]>()
      const record = ldap()

      it('are absent in standard, and can be read and configured in uaa', async () => {
        const row = (await rows()).find(({ originKey }) => originKey === 'ldap')
        const filled = await put('ldap', record)
        if (mode === 'standard') {
          assert.equal(row, undefined)
          assert.equal(filled.status, 404)
          return
        }
        assert.deepEqual([row?.id, row?.active], ['ldap', false])
        assert.equal(filled.status, 200, filled.text)
        assert.equal(last()?.type, 'IdentityProviderCreatedEvent')
        const read = await api.call({ path: '/ldap' })
        assert.deepEqual(read.json<ProviderAnswer>(), filled.json<ProviderAnswer>())
        assert.equal(read.json<ProviderAnswer>().name, 'Directory')
        assert.equal((await put('ldap', { ...record, name: 'Renamed' })).json<ProviderAnswer>().name, 'Renamed')
        assert.equal((await api.call({ method: 'DELETE', path: '/ldap' })).status, 200)
      })

      const inUaa = { skip: mode === 'standard' && 'it has none of these' }
      it('keep type and origin, and require the right to create providers', inUaa, async () => {
        const keystone = await api.call({ path: '/keystone' })
        assert.deepEqual([keystone.status, keystone.json<ProviderAnswer>().active], [200, false])
        for (const wrong of [
          { ...record, type: 'saml' },
          { ...record, originKey: 'other' },
        ]) {
          assert.equal((await put('ldap', wrong)).status, 422)
        }
        assert.equal((await api.call({ method: 'PUT', path: '/ldap', json: record, bearer: 'none' })).status, 401)
        assert.equal((await api.call({ method: 'DELETE', path: '/keystone' })).status, 404)
        assert.equal((await rows()).find(({ originKey }) => originKey === 'ldap')?.active, false)
      })
    })

    describe('GET', () => {
      // Covers Identity provider record: active
      // Covers GET /identity-providers: active_only
      it('lists all providers of the zone, or only active ones with active_only', async () => {
        await api.create(oidc('sleeping', {}, { active: false }))
        const origins = async (query: Readonly<Record<string, string>>) =>
          (await api.call({ query: { rawConfig: 'true', ...query } }))
            .json<readonly ProviderAnswer[]>()
            .map(({ originKey }) => originKey)
        const all = await origins({})
        assert.ok(all.includes('svc') && all.includes('sleeping'))
        assert.deepEqual(all, all.toSorted())
        assert.deepEqual(
          await origins({ active_only: 'true' }),
          all.filter(origin => !['sleeping', 'keystone', 'ldap'].includes(origin)), // the last two are built-in, inactive providers of UAA (C13)
        )
        assert.deepEqual(await origins({ active_only: 'false' }), all)
        assert.equal((await api.call({ query: { active_only: 'perhaps' } })).status, 400)
      })

      // Covers GET /identity-providers: originKey; error: not found
      it('finds an active provider by originKey', async () => {
        await api.create(oidc('found'))
        const [one, more] = (await api.call({ query: { originKey: 'found', rawConfig: 'true' } })).json<
          readonly ProviderAnswer[]
        >()
        assert.equal(one?.originKey, 'found')
        assert.equal(more, undefined)
        for (const originKey of ['sleeping', 'nowhere', 'FOUND', '\u00fc']) {
          const answer = await api.call({ query: { originKey } })
          assert.equal(answer.status, 404, originKey)
          assert.equal(answer.text, 'Provider not found.')
          assert.match(String(answer.headers['content-type']), /^text\/plain/)
        }
      })

      for (const method of ['GET', 'PUT', 'DELETE'] as const) {
        // Covers error body families: E7 text
        // Covers GET /identity-providers/{id}: error: not found
        // Covers PUT /identity-providers/{id}: error: not found
        // Covers DELETE /identity-providers/{id}: error: not found
        it(`answers 404 to ${method} of unknown providers and those of another zone`, async () => {
          const elsewhere = await server.store.providers.findByOrigin('z1', 'svc')
          assert.ok(elsewhere)
          for (const id of ['nothing', elsewhere.id, '%00', 'svc']) {
            const json = method === 'PUT' ? { json: oidc('x') } : {}
            const answer = await api.call({ method, path: `/${id}`, ...json })
            assert.equal(answer.status, 404, id)
            assert.equal(answer.text, 'Provider not found.')
          }
        })
      }
    })

    describe('PUT', () => {
      // Covers audit trail: IdentityProviderModifiedEvent
      // Covers Identity provider record: name; version; last_modified
      // Covers PUT /identity-providers/{id}: body
      it('replaces the provider and increments the version', async () => {
        const { id, created } = await api.create(oidc('changing', { emailDomain: ['old.example'], pkce: false }))
        server.clock.advance(5)
        const answer = await put(id, oidc('changing', { emailDomain: ['new.example'] }, { name: 'New', version: 3 }))
        assert.equal(answer.status, 200, answer.text)
        const record = answer.json<ProviderAnswer>()
        assert.equal(record.name, 'New')
        assert.equal(record.version, 4)
        assert.equal(record.created, created)
        assert.equal(record.last_modified, created + 5000)
        assert.deepEqual(record.config['emailDomain'], ['new.example'])
        assert.equal(record.config['pkce'], true) // absent from the body, so the default
        assert.deepEqual(await api.read(id), record)
        assert.equal((await server.store.providers.findByOrigin('svc', 'changing'))?.name, 'New')
        assert.equal(last()?.type, 'IdentityProviderModifiedEvent')
        assert.equal(last()?.principal, id)
      })

      // Covers PUT /identity-providers/{id}: rawConfig
      it('accepts a record as returned by GET, and keeps its secrets', async () => {
        for (const json of [oidc('again'), saml('again-too'), ldap()]) {
          const { id } = await api.create(json)
          const before = await api.read(id)
          const settings = await kept(String(json['originKey']))
          const answer = await put(id, before)
          assert.equal(answer.status, 200, answer.text)
          const { version, config, ...rest } = answer.json<ProviderAnswer>()
          assert.equal(version, before.version + 1)
          assert.deepEqual({ ...rest, version: before.version, config }, before)
          const after = await kept(String(json['originKey']))
          for (const name of ['relyingPartySecret', 'bindPassword']) assert.equal(after[name], settings[name], name)
          await api.call({ method: 'DELETE', path: `/${id}` })
        }
      })

      // Covers Identity provider record: originKey
      it('ignores a changed originKey, and requires one except for SAML', async () => {
        const { id } = await api.create(oidc('stays'))
        assert.equal(
          (await put(id, { ...oidc('stays'), originKey: 'moves' })).json<ProviderAnswer>().originKey,
          'stays',
        )
        assert.equal((await put(id, oidc('stays', {}, { originKey: null }))).status, 422)
        const federation = await api.create(saml('stays-too'))
        const answer = await put(federation.id, saml('stays-too', {}, { originKey: null }))
        assert.equal(answer.status, 200, answer.text)
        assert.equal(answer.json<ProviderAnswer>().originKey, 'stays-too')
      })

      it('rejects another type for the internal provider', async () => {
        const internal = await server.store.providers.findByOrigin('svc', 'svc')
        assert.ok(internal)
        assert.equal((await put(internal.id, oidc('svc'))).status, 422)
        const answer = await put(internal.id, { type: 'svc', originKey: 'svc', name: 'Inside', config: {} })
        assert.equal(answer.json<ProviderAnswer>().name, 'Inside')
      })

      const { certificate } = samlTestKey('ec')
      const beyondUaa: readonly {
        readonly name: string
        readonly make: (config?: Members) => Members
        readonly more: Members
      }[] = [
        {
          name: 'an OpenID Connect provider',
          make: config => oidc('beyond-uaa', config),
          more: { linkByEmail: false, authorizedParties: ['other'], acrMapping: { strong: 'phr' } },
        },
        {
          name: 'a SAML provider',
          make: config => saml('beyond-uaa', config),
          more: {
            linkByEmail: false,
            allowIdpInitiated: false,
            metadataCertificates: certificate,
            acrMapping: { strong: 'phr' },
          },
        },
        { name: 'an LDAP provider', make: ldap, more: { linkByEmail: false, caCertificates: certificate } },
      ]
      for (const { name, make, more } of beyondUaa) {
        it(`keeps omitted settings of ${name} unknown to UAA until they are null`, async t => {
          const { id, originKey } = await api.create(make(more))
          t.after(() => api.call({ method: 'DELETE', path: `/${id}` }))
          const settings = async (): Promise<Members> => {
            const config = await kept(originKey)
            return Object.fromEntries(Object.keys(more).flatMap(key => (key in config ? [[key, config[key]]] : [])))
          }
          const stored = await settings()
          assert.deepEqual(Object.keys(stored), Object.keys(more))
          const unnamed = await put(id, make())
          assert.equal(unnamed.status, 200, unnamed.text)
          assert.deepEqual(await settings(), stored)
          const removed = await put(id, make(Object.fromEntries(Object.keys(more).map(key => [key, null]))))
          assert.equal(removed.status, 200, removed.text)
          assert.deepEqual(await settings(), {})
        })
      }

      it('keeps omitted password rules unknown to UAA until they are null', async () => {
        const internal = await server.store.providers.findByOrigin('z1', 'svc')
        assert.ok(internal)
        const numbers = {
          minLength: 8,
          maxLength: 64,
          requireUpperCaseCharacter: 0,
          requireLowerCaseCharacter: 0,
          requireDigit: 0,
          requireSpecialCharacter: 0,
          expirePasswordInMonths: 0,
        }
        const change = async (passwordPolicy: Members | null): Promise<unknown> => {
          const json = { type: 'svc', originKey: 'svc', name: 'Inside', config: { passwordPolicy } }
          const headers = { 'x-identity-zone-id': 'z1' }
          const answer = await api.call({ method: 'PUT', path: `/${internal.id}`, json, headers })
          assert.equal(answer.status, 200, answer.text)
          return (await kept('svc', 'z1'))['passwordPolicy']
        }
        const rules = { refuseCommonPasswords: true, refuseOwnWords: true }
        await change({ ...numbers, ...rules })
        assert.deepEqual(await change({ ...numbers, minLength: 9 }), { ...numbers, minLength: 9, ...rules })
        assert.deepEqual(await change({ ...numbers, refuseCommonPasswords: null, refuseOwnWords: null }), numbers)
        await change({ ...numbers, ...rules })
        assert.equal(await change(null), undefined)
      })

      // Covers PUT /identity-providers/{id}: error: issuer taken
      it('rejects the issuer of another provider with 409, but accepts its own', async () => {
        await api.create(oidc('first'))
        const { id } = await api.create(oidc('second'))
        const taken = await put(id, oidc('second', { issuer: 'https://first.example' }))
        assert.equal(taken.status, 409)
        assert.equal(taken.json()['originKey'], 'second')
        assert.equal((await put(id, oidc('second'))).status, 200)
      })

      // Covers PUT /identity-providers/{id}: error: validation 422
      it('validates like POST', async () => {
        const { id } = await api.create(oidc('strict'))
        const before = await api.read(id)
        assert.equal((await put(id, oidc('strict', { tokenUrl: null }))).status, 422)
        assert.equal((await put(id, oidc('strict', {}, { name: null }))).status, 422)
        assert.match((await put(id, oidc('strict', {}, { config: '{' }))).text, /^Invalid provider configuration\./)
        assert.equal((await put(id, '{')).status, 400)
        assert.equal((await put(id, oidc('strict', {}, { version: 'x' }))).status, 400)
        assert.deepEqual(await api.read(id), before)
      })

      it('rejects conflicting concurrent changes with 409', async () => {
        const { id } = await api.create(oidc('contested'))
        const bearer = (
          await server.token({ grant_type: 'client_credentials' }, { basic: ['admin', 'admin-secret'] })
        ).json<{ access_token: string }>().access_token
        const change = (name: string): Promise<TestAnswer> =>
          api.call({ method: 'PUT', path: `/${id}`, bearer, json: oidc('contested', {}, { name }) })
        const names = ['a', 'b', 'c', 'd', 'e']
        const answers = await Promise.all(names.map(change))
        const winners = answers.filter(({ status }) => status === 200)
        assert.ok(winners.length > 0)
        for (const { status, text } of answers) assert.ok(status === 200 || status === 409, text)
        const stored = await server.store.providers.findForChange('svc', id)
        assert.equal(stored?.revision, winners.length)
        assert.ok(winners.some(winner => winner.json<ProviderAnswer>().name === stored.provider.name))
      })
    })

    describe('PUT of a provider with a secret', () => {
      const secret = `${SECRET_MARK} of kept`
      const cases: readonly { name: string; change: Members; want: string | undefined }[] = [
        // Covers PUT /identity-providers/{id}: rule: secrets are kept
        { name: 'keeps an omitted secret', change: {}, want: secret },
        { name: 'keeps the secret if null is sent', change: { relyingPartySecret: null }, want: secret },
        {
          name: 'keeps the secret for client_secret_basic',
          change: { authMethod: 'client_secret_basic' },
          want: secret,
        },
        { name: 'keeps the secret for client_secret_post', change: { authMethod: 'client_secret_post' }, want: secret },
        { name: 'deletes the secret for authMethod none', change: { authMethod: 'none' }, want: undefined },
        {
          name: 'deletes the secret for private_key_jwt',
          change: { authMethod: 'private_key_jwt', jwtClientAuthentication: true },
          want: undefined,
        },
        { name: 'deletes the secret if an empty one is sent', change: { relyingPartySecret: '' }, want: undefined },
        {
          name: 'replaces the secret',
          change: { relyingPartySecret: `${SECRET_MARK} 2` },
          want: `${SECRET_MARK} 2`,
        },
      ]
      for (const { name, change, want } of cases) {
        it(`${name} (relyingPartySecret)`, async () => {
          const { id } = await api.create(oidc('kept'))
          const answer = await put(id, oidc('kept', { relyingPartySecret: undefined, ...change }))
          assert.equal(answer.status, 200, answer.text)
          assert.equal((await kept('kept'))['relyingPartySecret'], want)
          await api.call({ method: 'DELETE', path: `/${id}` })
        })
      }

      describe('by a caller with idps.write only', () => {
        const unnamed = { relyingPartySecret: undefined, bindPassword: undefined }
        const elsewhere = 'https://evil.example/token'
        const moved: readonly { name: string; before: Members; after: Members }[] = [
          { name: 'another token endpoint', before: oidc('kept'), after: oidc('kept', { tokenUrl: elsewhere }) },
          { name: 'another port', before: oidc('kept'), after: oidc('kept', { tokenUrl: 'https://kept.example:1/' }) },
          {
            name: 'another discovery endpoint',
            before: oidc('kept'),
            after: oidc('kept', { discoveryUrl: elsewhere }),
          },
          {
            name: 'another discovery document of the same host',
            before: oidc('kept', { discoveryUrl: 'https://kept.example/.well-known/openid-configuration' }),
            after: oidc('kept', { discoveryUrl: 'https://kept.example/eve/document.json' }),
          },
          {
            name: 'an additional LDAP server',
            before: ldap(),
            after: ldap({ baseUrl: 'ldap://directory.example ldap://e' }),
          },
          {
            name: 'an LDAP server without TLS',
            before: ldap({ tlsConfiguration: 'simple' }),
            after: ldap({ tlsConfiguration: 'none' }),
          },
          {
            name: 'an LDAP server with an unverified certificate',
            before: ldap(),
            after: ldap({ skipSSLVerification: true }),
          },
        ]
        for (const { name, before, after } of moved) {
          it(`requires the secret to be sent again for ${name}`, async () => {
            const record = await api.create(before)
            const config = { ...Object(after['config']), ...unnamed }
            const path = `/${record.id}`
            const answer = await api.call({ method: 'PUT', path, json: { ...after, config }, as: 'writer' })
            assert.equal(answer.status, 422, answer.text)
            assert.deepEqual((await api.read(record.id)).config, record.config)
            const texts = { ...after, config: JSON.stringify(config) }
            assert.equal((await api.call({ method: 'PUT', path, json: texts, as: 'writer' })).status, 422)
            assert.equal((await api.call({ method: 'PUT', path, json: after, as: 'writer' })).status, 200)
            await api.call({ method: 'DELETE', path })
          })
        }

        for (const make of [() => oidc('kept'), ldap]) {
          it(`keeps the secret of an unchanged record: ${String(make()['type'])}`, async () => {
            const record = await api.read((await api.create(make())).id)
            const path = `/${record.id}`
            assert.equal((await api.call({ method: 'PUT', path, json: record, as: 'writer' })).status, 200)
            await api.call({ method: 'DELETE', path })
          })
        }

        it('keeps the secret if only the token path or an unrelated setting changes', async () => {
          const { id } = await api.create(oidc('kept'))
          const changed = { ...unnamed, tokenUrl: 'https://kept.example/2', authUrl: 'https://login.kept.example/' }
          const path = `/${id}`
          const answer = await api.call({ method: 'PUT', path, json: oidc('kept', changed), as: 'writer' })
          assert.equal(answer.status, 200, answer.text)
          assert.equal((await kept('kept'))['relyingPartySecret'], secret)
          await api.call({ method: 'DELETE', path })
        })
      })

      it('keeps an omitted secret (bindPassword)', async () => {
        const { id } = await api.create(ldap())
        await put(id, ldap({ bindPassword: undefined, baseUrl: 'ldap://other.example' }))
        assert.equal((await kept('ldap'))['bindPassword'], `${SECRET_MARK} of the directory`)
        const moved = await api.call({ method: 'PUT', path: `/${id}`, json: ldap({}, { originKey: 'other' }) })
        assert.equal(moved.status, 422, moved.text)
        await put(id, ldap({ bindPassword: `${SECRET_MARK} 2` }))
        assert.equal((await kept('ldap'))['bindPassword'], `${SECRET_MARK} 2`)
        await api.call({ method: 'DELETE', path: `/${id}` })
      })

      it('keeps an omitted signing key for the same kid only, and deletes it on null', async () => {
        const key = `${SECRET_MARK} key`
        const withKey = (jwtClientAuthentication: unknown): Members =>
          oidc('signing', { relyingPartySecret: undefined, jwtClientAuthentication })
        const { id, config } = await api.create(withKey({ kid: 'k', key, alg: 'RS256', other: 1 }))
        assert.deepEqual(config['jwtClientAuthentication'], { kid: 'k', alg: 'RS256' })
        assert.equal(config['authMethod'], 'private_key_jwt')
        const after = async (value: unknown): Promise<unknown> => {
          const answer = await put(id, withKey(value))
          assert.equal(answer.status, 200, answer.text)
          return (await kept('signing'))['jwtClientAuthentication']
        }
        assert.deepEqual(await after({ kid: 'k' }), { kid: 'k', key })
        assert.deepEqual(await after({ kid: 'k', key: null }), { kid: 'k', key: null })
        assert.deepEqual(await after({ kid: 'k', key }), { kid: 'k', key })
        assert.deepEqual(await after({ kid: 'another' }), { kid: 'another' })
      })

      it('treats a symmetric verification key as a secret', async () => {
        const tokenKey = `${SECRET_MARK} shared`
        const { id, config } = await api.create(oidc('symmetric', { tokenKey }))
        assert.equal(config['tokenKey'], undefined)
        await put(id, oidc('symmetric'))
        assert.equal((await kept('symmetric'))['tokenKey'], tokenKey)
      })

      it('stores secrets encrypted', async () => {
        for (const { provider } of await server.store.providers.list('svc')) {
          assert.ok(!JSON.stringify(provider).includes(SECRET_MARK), provider.originKey)
        }
      })

      it('deletes the secret if the type changes', async () => {
        const { id } = await api.create(oidc('turning'))
        await put(id, { ...saml('turning'), originKey: 'turning' })
        assert.deepEqual(Object.keys(await kept('turning')), ['metaDataLocation'])
        await put(id, oidc('turning', { relyingPartySecret: undefined }))
        assert.equal((await kept('turning'))['relyingPartySecret'], undefined)
      })
    })
  })
}
