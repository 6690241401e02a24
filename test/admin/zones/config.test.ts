import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import fc from 'fast-check'
import { isJsonRecord } from '../../../src/base/json.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestServer } from '../../support/server.ts'
import type { ZoneAnswer } from '../../support/zones.ts'
import { startZoneServer, tokenOf, zoneWrites } from '../../support/zones.ts'
import { groupNamesOf } from '../../support/group-names.ts'
import { runs } from '../../support/thinning.ts'

type Config = Readonly<Record<string, unknown>>

const CORS = {
  allowedOrigins: ['.*'],
  allowedOriginPatterns: [],
  allowedUris: ['.*'],
  allowedUriPatterns: [],
  allowedHeaders: ['Accept', 'Authorization', 'Content-Type'],
  allowedMethods: ['GET'],
  allowedCredentials: false,
  maxAge: 1_728_000,
}

/** The defaults of a zone. */
const DEFAULTS = {
  clientSecretPolicy: {
    minLength: -1,
    maxLength: -1,
    requireUpperCaseCharacter: -1,
    requireLowerCaseCharacter: -1,
    requireDigit: -1,
    requireSpecialCharacter: -1,
  },
  tokenPolicy: {
    accessTokenValidity: -1,
    refreshTokenValidity: -1,
    jwtRevocable: false,
    refreshTokenUnique: false,
    refreshTokenRotate: false,
    refreshTokenFormat: 'opaque',
    activeKeyId: null,
  },
  samlConfig: {
    requestSigned: true,
    wantAssertionSigned: true,
    disableInResponseToCheck: false,
    keys: {},
  },
  corsPolicy: { xhrConfiguration: CORS, defaultConfiguration: CORS },
  links: {
    selfService: { selfServiceLinksEnabled: true, signup: null, passwd: null },
    logout: {
      redirectUrl: '/login',
      redirectParameterName: 'redirect',
      disableRedirectParameter: false,
      whitelist: null,
    },
  },
  prompts: [
    { name: 'username', type: 'text', text: 'Email' },
    { name: 'password', type: 'password', text: 'Password' },
    { name: 'passcode', type: 'password', text: 'Temporary Authentication Code (Get on at /passcode)' },
  ],
  idpDiscoveryEnabled: false,
  accountChooserEnabled: false,
  userConfig: {
    defaultGroups: [
      'openid',
      'password.write',
      'svc.user',
      'approvals.me',
      'profile',
      'roles',
      'user_attributes',
      'svc.offline_token',
    ],
    maxUsers: -1,
    checkOriginEnabled: false,
    allowOriginLoop: true,
  },
}

/** Every member with a value other than its default, except keys and the issuer, which requires one. */
const FULL = {
  clientSecretPolicy: {
    minLength: 6,
    maxLength: 128,
    requireUpperCaseCharacter: 1,
    requireLowerCaseCharacter: 2,
    requireDigit: 0,
    requireSpecialCharacter: 3,
  },
  tokenPolicy: {
    accessTokenValidity: 600,
    refreshTokenValidity: 2_147_483_647,
    jwtRevocable: true,
    refreshTokenUnique: true,
    refreshTokenRotate: true,
    refreshTokenFormat: 'jwt',
    accessTokenType: 'at+jwt',
    activeKeyId: null,
  },
  samlConfig: {
    requestSigned: false,
    wantAssertionSigned: false,
    disableInResponseToCheck: true,
    entityID: 'https://sp.example/saml',
    activeKeyId: 'of-no-key',
    keys: {},
  },
  corsPolicy: {
    xhrConfiguration: {
      allowedOrigins: ['^https://a\\.example$'],
      allowedOriginPatterns: ['^https://b\\.example$'],
      allowedUris: ['^/x$'],
      allowedUriPatterns: ['^/y$'],
      allowedHeaders: ['X-One'],
      allowedMethods: ['POST'],
      allowedCredentials: true,
      maxAge: 10,
    },
    defaultConfiguration: { ...CORS, allowedMethods: ['GET', 'PUT'] },
  },
  links: {
    selfService: {
      selfServiceLinksEnabled: false,
      signup: 'https://signup.example/{zone.id}',
      passwd: 'https://passwd.example/{zone.subdomain}',
    },
    homeRedirect: 'https://home.example',
    logout: {
      redirectUrl: '/bye',
      redirectParameterName: 'to',
      disableRedirectParameter: false,
      whitelist: ['https://bye.example/**'],
    },
  },
  prompts: [{ name: 'username', type: 'text', text: 'Account' }],
  idpDiscoveryEnabled: true,
  accountChooserEnabled: true,
  branding: {
    companyName: 'Acme',
    productLogo: 'aGVsbG8=',
    squareLogo: 'aGVsbG8',
    footerLegalText: '© Acme',
    footerLinks: { Terms: 'https://acme.example/terms' },
    banner: {
      text: 'Attention',
      logo: 'aGVs\nbG8=\n',
      link: 'https://acme.example',
      textColor: '#000',
      backgroundColor: '#ABCdef',
    },
    consent: { text: 'I agree', link: 'http://acme.example/consent' },
  },
  userConfig: {
    defaultGroups: ['openid', 'acme'],
    allowedGroups: ['scim.read'],
    maxUsers: 1,
    checkOriginEnabled: true,
    allowOriginLoop: false,
  },
  defaultIdentityProvider: 'ldap',
}

for (const mode of MODES) {
  describe(`Zone config in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startZoneServer({ mode })
      bearer = await tokenOf(server, 'writer')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const { post, created, put, lastId } = zoneWrites(
      () => server,
      () => bearer,
    )
    const read = async (id: string): Promise<ZoneAnswer> =>
      (await server.send(`/identity-zones/${id}`, { bearer })).json<ZoneAnswer>()

    describe('responses', () => {
      for (const { name, config } of [
        { name: 'no config', config: undefined },
        { name: 'an empty config', config: {} },
        {
          name: 'empty parts',
          config: {
            tokenPolicy: {},
            samlConfig: {},
            corsPolicy: {},
            links: {},
            userConfig: {},
            clientSecretPolicy: {},
          },
        },
        {
          name: 'null parts',
          config: { tokenPolicy: null, samlConfig: null, links: null, userConfig: null, branding: null, prompts: null },
        },
        { name: 'the returned config', config: DEFAULTS },
        { name: 'unknown members', config: { unknown: 1, tokenPolicy: { unknown: [] }, mfaConfig: {} } },
        { name: 'ignored members', config: { clientSecretPolicy: { expireSecretInMonths: 3 } } },
      ]) {
        // Covers GET /identity-zones/{id}: response: zone
        it(`contain all defaults for ${name}`, async () => {
          const { id, config: shown } = await created(config)
          assert.deepEqual(shown, DEFAULTS)
          assert.deepEqual((await read(id)).config, DEFAULTS)
        })
      }

      // Covers Zone record: config
      // Partly covers Zone config in effect: branding.consent; userConfig.allowOriginLoop
      it('contain the config as sent', async () => {
        const { id, config } = await created(FULL)
        assert.deepEqual(config, FULL)
        assert.deepEqual((await read(id)).config, FULL)
      })

      it('contain refreshTokenFormat in lower case', async () => {
        const { id, config } = await created({ tokenPolicy: { refreshTokenFormat: 'JWT' } })
        assert.equal(config['tokenPolicy']?.['refreshTokenFormat'], 'jwt')
        assert.equal((await server.store.zones.read(id))?.zone.config?.tokenPolicy?.refreshTokenFormat, 'jwt')
      })

      it('contain defaults after an update without config', async () => {
        const zone = await created({ idpDiscoveryEnabled: true, branding: { companyName: 'x' } })
        assert.deepEqual((await put(zone, undefined)).json<ZoneAnswer>().config, DEFAULTS)
      })

      it('change nothing if sent back', async () => {
        const full = { ...FULL, samlConfig: { ...FULL.samlConfig, entityID: 'https://sp.example/again' } }
        for (const config of [{}, full, { corsPolicy: { defaultConfiguration: { allowedOriginPatterns: ['^x$'] } } }]) {
          const zone = await created(config)
          assert.deepEqual((await put(zone, zone.config)).json<ZoneAnswer>().config, zone.config)
        }
      })

      it('do not freeze defaults of the server if sent back', async () => {
        const zone = await created({})
        await put(zone, zone.config)
        const stored = (await server.store.zones.read(zone.id))?.zone.config
        assert.deepEqual([stored?.corsPolicy, stored?.prompts], [{}, undefined])
      })

      it('contain no default origins and URIs beside patterns', async () => {
        const part = { allowedOriginPatterns: ['^https://a$'], allowedUriPatterns: ['^/a$'] }
        const { config } = await created({ corsPolicy: { xhrConfiguration: part } })
        const shown = config['corsPolicy']?.['xhrConfiguration']
        assert.deepEqual(shown, { ...CORS, ...part, allowedOrigins: [], allowedUris: [] })
      })

      it('contain only stored, known members', async () => {
        const { id } = await created({
          unknown: 'kept?',
          links: { other: 'kept?' },
          branding: { banner: { x: 'kept?' } },
        })
        assert.ok(!JSON.stringify(await server.store.zones.read(id)).includes('kept?'))
      })

      it('contain any valid config as sent', async () => {
        const text = fc.string({ maxLength: 12 }).filter(value => value.trim() !== '')
        const texts = fc.array(text, { maxLength: 3 })
        let entities = 0
        const entity = text.map(value => `${value}${(entities += 1)}`) // unique among zones
        const link = fc.constantFrom('https://a.example/b?c#d', 'http://{zone.id}.a.example', '/path', '')
        const target = fc.constantFrom('https://a.example/bye', 'http*://a.example/**', 'https://*.a.example/', '/bye')
        const flag = fc.boolean()
        const number = fc.integer({ min: -1, max: 2_147_483_647 })
        const record = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
          fc.record(model, { requiredKeys: [], noNullPrototype: true })
        const valid = record({
          clientSecretPolicy: record({ minLength: number, maxLength: number, requireDigit: number }),
          tokenPolicy: record({
            accessTokenValidity: number,
            refreshTokenValidity: number,
            jwtRevocable: flag,
            refreshTokenRotate: flag,
            refreshTokenFormat: fc.constantFrom('opaque', 'jwt'),
          }),
          samlConfig: record({ requestSigned: flag, entityID: fc.option(entity) }),
          links: record({
            homeRedirect: fc.option(link),
            logout: record({ redirectUrl: link, whitelist: fc.option(fc.array(target, { maxLength: 3 })) }),
            selfService: record({ signup: fc.option(link), selfServiceLinksEnabled: flag }),
          }),
          prompts: fc.array(fc.record({ name: text, type: text, text }, { noNullPrototype: true }), { maxLength: 3 }),
          idpDiscoveryEnabled: flag,
          accountChooserEnabled: flag,
          userConfig: record({
            defaultGroups: fc.array(text, { minLength: 1, maxLength: 3 }),
            allowedGroups: fc.option(texts),
            maxUsers: fc.integer({ min: 1, max: 1000 }),
            checkOriginEnabled: flag,
          }),
          defaultIdentityProvider: fc.option(text),
        })
        await fc.assert(
          fc.asyncProperty(valid, async sent => {
            const zone = await created(sent)
            assert.deepEqual(zone.config, merged(DEFAULTS, sent))
            assert.deepEqual((await put(zone, zone.config)).json<ZoneAnswer>().config, zone.config)
          }),
          { numRuns: runs(40) },
        )
      })
    })

    describe('type validation', () => {
      /** Paths of all known leaves. */
      const leaves = (value: unknown, path: readonly string[] = []): readonly (readonly string[])[] =>
        typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
          ? Object.entries(value).flatMap(([name, member]) => leaves(member, [...path, name]))
          : [path]
      const nested = (path: readonly string[], value: unknown): unknown =>
        path.reduceRight((inner, name): unknown => ({ [name]: inner }), value)
      const parts = [
        ['clientSecretPolicy'],
        ['tokenPolicy'],
        ['samlConfig'],
        ['corsPolicy'],
        ['corsPolicy', 'xhrConfiguration'],
        ['links'],
        ['links', 'logout'],
        ['links', 'selfService'],
        ['branding'],
        ['branding', 'banner'],
        ['branding', 'consent'],
        ['branding', 'footerLinks'],
        ['userConfig'],
        ['tokenPolicy', 'keys'],
        ['tokenPolicy', 'keys', 'k1'],
        ['samlConfig', 'keys', 'k1'],
        ['samlConfig', 'certificate'],
        ['samlConfig', 'privateKey'],
        ['samlConfig', 'privateKeyPassword'],
        ['issuer'],
      ]
      for (const path of [...leaves(FULL), ...parts]) {
        if (path.at(-1) === 'disableRedirectParameter') continue // accepts any value
        it(`rejects invalid values of ${path.join('.')}`, async () => {
          const good = path.reduce<unknown>((of, name) => Reflect.get(Object(of), name), FULL)
          for (const value of [{ x: {} }, [{}], 1.5, [[1]], 1e300, true, 'x\0', -7]) {
            if (typeof good === 'boolean' && value === true) continue
            if (isJsonRecord(good) && isJsonRecord(value) && path.at(-1) !== 'footerLinks') continue // an unknown member
            const answer = await post(nested(path, value))
            const isKnown = [400, 422].includes(answer.status)
            assert.ok(isKnown, `${JSON.stringify(value)}: ${answer.status} ${answer.text}`)
            assert.ok(['invalid_request', 'invalid_identity_zone'].includes(String(answer.json()['error'])))
          }
        })
      }

      for (const { name, config } of [
        { name: 'corsPolicy: null', config: { corsPolicy: null } },
        { name: 'issuer: null', config: { issuer: null } },
        { name: 'an issuer that is not a URL', config: { issuer: 'x' } },
        { name: 'an issuer with another scheme', config: { issuer: 'ftp://x.example' } },
        { name: 'an issuer of 100 kB', config: { issuer: `https://x.example/${'/'.repeat(100_000)}x` } },
        { name: 'an unknown type of access tokens', config: { tokenPolicy: { accessTokenType: 'jwt' } } },
        { name: 'an unknown format of refresh tokens', config: { tokenPolicy: { refreshTokenFormat: 'paper' } } },
        { name: 'a prompt without a text', config: { prompts: [{ name: 'a', type: 'b' }] } },
        { name: 'a default group without a name', config: { userConfig: { defaultGroups: [' '] } } },
        { name: 'an allowed group without a name', config: { userConfig: { allowedGroups: [''] } } },
        { name: 'a group name of 256 characters', config: { userConfig: { defaultGroups: ['x'.repeat(256)] } } },
        {
          name: '1001 groups',
          config: { userConfig: { defaultGroups: Array.from({ length: 1001 }, (_, number) => `g${number}`) } },
        },
        { name: 'a refreshTokenUnique of -2', config: { tokenPolicy: { refreshTokenUnique: -2 } } },
        { name: 'a refreshTokenUnique of 1.5', config: { tokenPolicy: { refreshTokenUnique: 1.5 } } },
      ]) {
        it(`rejects ${name}`, async () => {
          const answer = await post(config)
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '400 invalid_request')
        })
      }

      it('creates no zone', async () => {
        await post({ tokenPolicy: 7 })
        assert.equal(await server.store.zones.read(lastId()), undefined)
        assert.deepEqual(await groupNamesOf(server.store, lastId()), [])
      })
    })

    describe('validation', () => {
      const origins = (allowedOrigins: readonly string[]) => ({ allowedOrigins })
      const banner = (members: object): Config => ({ branding: { banner: members } })
      const consent = (members: object): Config => ({ branding: { consent: members } })
      const LINK = 'Must be a properly formatted URI beginning with http:// or https://'
      const COLOUR = 'Must be a properly formatted hexadecimal color code.'
      const LOGO = 'Invalid banner logo. Must be in BASE64 format.'
      const cases: readonly { name: string; config: Config; text: string }[] = [
        // Covers Zone config validation: CORS pattern
        {
          name: 'an invalid pattern in allowedOrigins',
          config: { corsPolicy: { xhrConfiguration: origins(['(']) } },
          text: "Invalid value in config.corsPolicy.xhrConfiguration.allowedOrigins: '('.",
        },
        {
          name: 'an invalid pattern in allowedUriPatterns',
          config: { corsPolicy: { defaultConfiguration: { allowedUriPatterns: ['^/$', '['] } } },
          text: "Invalid value in config.corsPolicy.defaultConfiguration.allowedUris: '['.",
        },
        {
          name: 'an invalid header',
          config: { corsPolicy: { defaultConfiguration: { allowedHeaders: ['X: y'] } } },
          text: "Invalid value in config.corsPolicy.defaultConfiguration.allowedHeaders: 'X: y'.",
        },
        // Covers Zone config validation: no allowed group
        {
          name: 'no groups',
          config: { userConfig: { allowedGroups: [], defaultGroups: [] } },
          text: 'At least one group must be allowed',
        },
        // Covers Zone config validation: maxUsers
        ...[0, -2].map(maxUsers => ({
          name: `${maxUsers} users`,
          config: { userConfig: { maxUsers } },
          text: 'Maximum number of users in the zone is invalid, either use -1 or a value more than 0.',
        })),
        // Covers Zone config validation: consent text
        ...[{}, { text: ' ' }, { link: 'https://x.example' }].map(members => ({
          name: `consent ${JSON.stringify(members)}`,
          config: consent(members),
          text: 'Consent text must be set if configuring consent',
        })),
        ...['x.example', 'javascript:alert(1)', 'https://', 'http:// x'].flatMap(link => [
          // Covers Zone config validation: consent link
          {
            name: `the consent link ${link}`,
            config: consent({ text: 'x', link }),
            text: `Invalid consent link: ${link}. ${LINK}`,
          },
          // Covers Zone config validation: banner link
          { name: `the banner link ${link}`, config: banner({ link }), text: `Invalid banner link: ${link}. ${LINK}` },
        ]),
        ...['red', '#12', '#12345', '#ggg', '000', '#000;'].flatMap(colour => [
          // Covers Zone config validation: banner colours
          {
            name: `the background colour ${colour}`,
            config: banner({ backgroundColor: colour }),
            text: `Invalid banner background color: ${colour}. ${COLOUR}`,
          },
          {
            name: `the text colour ${colour}`,
            config: banner({ textColor: colour }),
            text: `Invalid banner text color: ${colour}. ${COLOUR}`,
          },
        ]),
        // Covers Zone config validation: banner logo
        ...['a', 'aGVsbG8==', 'a=b=', '<svg>', 'aGVsbG-_', '===='].map(logo => ({
          name: `the logo ${logo}`,
          config: banner({ logo }),
          text: LOGO,
        })),
        ...[
          'javascript:alert(1)',
          ' https://x.example',
          'data:text/html,x',
          'ftp://x.example',
          'mailto:a@x.example',
          'x.example',
          '//x.example',
          '/\\x.example',
          'https://',
          'https:x.example',
          'https:\\x.example',
        ].flatMap(link =>
          [
            ['footer link', { branding: { footerLinks: { good: 'https://x.example', bad: link } } }] as const,
            ['self-service link', { links: { selfService: { signup: link } } }] as const,
            ['self-service link', { links: { selfService: { passwd: link } } }] as const,
            ['home link', { links: { homeRedirect: link } }] as const,
            ['logout link', { links: { logout: { redirectUrl: link } } }] as const,
          ].map(([which, config]) => ({
            name: `the ${which} ${link} of ${JSON.stringify(config).slice(0, 40)}`,
            config,
            text: `Invalid ${which}: ${link}. Must be a path or a properly formatted URI beginning with http:// or https://`,
          })),
        ),
        ...['javascript:alert(1)', '**', '*://x.example', 'com.example.app://bye', '//x.example', ''].map(target => ({
          name: `the logout target '${target}'`,
          config: { links: { logout: { whitelist: ['https://x.example', target] } } },
          text: `Invalid logout target: ${target}. Must be a path or a properly formatted URI beginning with http:// or https://`,
        })),
        // Covers Zone config validation: issuer without key
        {
          name: 'an issuer without a key',
          config: { issuer: 'https://issuer.example' },
          text: 'You cannot set issuer value unless you have set your own signing key for this identity zone.',
        },
        // Covers Zone config validation: active key without keys
        {
          name: 'an active key without keys',
          config: { tokenPolicy: { activeKeyId: 'k1' } },
          text: 'Identity zone cannot specify an active key ID with no keys configured for the zone.',
        },
        {
          name: 'several errors, reporting the first',
          config: { ...banner({ link: 'x' }), userConfig: { maxUsers: 0 }, issuer: 'https://issuer.example' },
          text: 'You cannot set issuer value unless you have set your own signing key for this identity zone.',
        },
      ]
      for (const { name, config, text } of cases) {
        it(`rejects on creation and update ${name}`, async () => {
          const description = `The identity zone details are invalid. The zone configuration is invalid. ${text}`
          const zone = await created({})
          const before = await server.store.zones.read(zone.id)
          for (const answer of [await post(config), await put(zone, config)]) {
            assert.equal(answer.status, 422, answer.text)
            assert.deepEqual(answer.json(), { error: 'invalid_identity_zone', error_description: description })
          }
          assert.deepEqual(await server.store.zones.read(zone.id), before)
        })
      }

      it('accepts empty optional strings', async () => {
        await created({ branding: { banner: { link: '', textColor: '', logo: '' }, consent: { text: 'x', link: '' } } })
      })

      it('accepts empty allowedGroups beside default groups', async () => {
        await created({ userConfig: { allowedGroups: [] } })
      })
    })

    // Covers Zone config in effect: samlConfig.entityID
    it('sets the SAML entity id of the zone', async () => {
      const { subdomain } = await created({ samlConfig: { entityID: 'https://sp.example/own' } })
      const info = await server.send('/info', { host: `${subdomain}.localhost:8080` })
      assert.equal(info.json()['entityID'], 'https://sp.example/own')
    })

    it('rejects the SAML entity id of another zone, in any case and concurrently', async () => {
      const own = { samlConfig: { entityID: 'https://sp.example/taken' } }
      const owner = await created(own)
      const rival = await created({})
      const answer = await put(rival, { samlConfig: { entityID: ' https://SP.example/taken ' } })
      assert.equal(answer.status, 422, answer.text)
      assert.match(answer.text, /The SAML entity ID is that of another zone/)
      assert.equal((await post(own)).status, 422)
      assert.equal((await put(owner, own)).status, 200)
      const others = [rival, await created({})]
      const config = { samlConfig: { entityID: 'https://sp.example/raced' } }
      const raced = await Promise.all(others.map(each => put(each, config)))
      assert.deepEqual(
        raced.map(({ status }) => status).toSorted((x, y) => x - y),
        [200, 422],
      )
    })
  })
}

/** The defaults overridden by the sent members; null stands for the default, or for an absent member. */
function merged(usual: unknown, sent: unknown): unknown {
  if (sent === undefined || sent === null) return usual
  if (typeof sent !== 'object' || Array.isArray(sent)) return sent
  const names = new Set([...Object.keys(Object(usual)), ...Object.keys(sent)])
  return Object.fromEntries(
    [...names]
      .map(name => [name, merged(Reflect.get(Object(usual), name), Reflect.get(sent, name))] as const)
      .filter(([, value]) => value !== undefined),
  )
}
