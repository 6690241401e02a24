import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DEFAULT_CORS } from '../../src/model/zones/cors-policy.ts'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()
const load = (text: string) => loadText(folder, `${text}\nsmtp: { host: localhost }`)

describe('cors', () => {
  it('defaults to every origin, without credentials', async () => {
    for (const text of ['', 'cors: {}', 'cors: { xhr: {}, default: { allowed: {} } }']) {
      const { cors, warnings } = await load(text)
      assert.deepEqual(cors, { policy: DEFAULT_CORS, enforced: false })
      assert.deepEqual(warnings, [])
    }
  })

  it('has UAA’s keys, each optional', async () => {
    const { cors } = await load(`cors:
  enforceSystemZonePolicyInAllZones: true
  xhr: { allowed: { origins: [a], credentials: true } }
  default:
    allowed: { uris: [/x], origins: [b], headers: [X-A], methods: [GET], credentials: false }
    max_age: -1`)
    assert.deepEqual(cors, {
      enforced: true,
      policy: {
        xhrConfiguration: { ...DEFAULT_CORS.xhrConfiguration, allowedOrigins: ['a'], allowedCredentials: true },
        defaultConfiguration: {
          allowedUris: ['/x'],
          allowedOrigins: ['b'],
          allowedHeaders: ['X-A'],
          allowedMethods: ['GET'],
          allowedCredentials: false,
          maxAge: -1,
        },
      },
    })
  })

  const refused = [
    {
      name: 'an invalid regular expression',
      text: 'cors: { default: { allowed: { origins: ["https://a", "https://(b"] } } }',
      want: [
        'cors.default.allowed.origins[1]: "https://(b" is not a usable regular expression: it is not valid: missing closing ): `https://(b`',
      ],
    },
    {
      name: 'an unsupported regular expression',
      text: 'cors: { xhr: { allowed: { uris: ["(?!/x).*"] } } }',
      want: [
        'cors.xhr.allowed.uris[0]: "(?!/x).*" is not a usable regular expression: it is not valid: invalid or unsupported Perl syntax: `(?!`',
      ],
    },
    {
      name: 'an invalid header name or method',
      text: 'cors: { default: { allowed: { headers: ["X-A, X-B"], methods: ["GET\\r\\nX: y"] } } }',
      want: [
        'cors.default.allowed.headers[0]: "X-A, X-B" is not an HTTP token',
        'cors.default.allowed.methods[0]: "GET\\r\\nX: y" is not an HTTP token',
      ],
    },
    {
      name: 'a key that only UAA’s samples have',
      text: 'cors: { default: { allowed: { origin: [a] } } }',
      want: ['cors.default.allowed.origin: is not a known key; did you mean origins?'],
    },
    {
      name: 'a string for a list, reporting only that',
      text: 'cors: { default: { allowed: { origins: "((" } }, xhr: { max_age: -2 } }',
      want: ['cors.default.allowed.origins: must be a list', 'cors.xhr.max_age: must be at least -1'],
    },
    {
      name: 'an expression in the settings of the default zone',
      text: 'zone_config: { corsPolicy: { defaultConfiguration: { allowedUris: ["["] } } }',
      want: [
        'zone_config.corsPolicy.defaultConfiguration.allowedUris[0]: "[" is not a usable regular expression: it is not valid: missing closing ]: `[`',
      ],
    },
    {
      name: 'an expression in the settings of another zone',
      text: `bootstrap: { identity_zones: [{ id: z, subdomain: z, name: z, config:
        { corsPolicy: { xhrConfiguration: { allowedOriginPatterns: ["*"] } } } }] }`,
      want: [
        'bootstrap.identity_zones[0].config.corsPolicy.xhrConfiguration.allowedOriginPatterns[0]: "*" is not a usable regular expression: it is not valid: missing argument to repetition operator: `*`',
      ],
    },
  ]
  for (const { name, text, want } of refused) {
    // Covers configuration file: rule: an unusable expression of `cors` or `corsPolicy` stops the start
    it(`rejects ${name}`, async () => {
      assert.deepEqual((await problemsOf(load(text))).toSorted(), want.toSorted())
    })
  }

  const warned = [
    { text: 'cors: { default: { allowed: { credentials: true } } }', part: 'cors.default' },
    { text: 'cors: { xhr: { allowed: { credentials: true, origins: ["https?://.*"] } } }', part: 'cors.xhr' },
  ]
  for (const { text, part } of warned) {
    it(`warns of credentials for every origin in ${part}`, async () => {
      const { warnings } = await load(text)
      assert.equal(warnings.length, 1)
      assert.match(warnings[0] ?? '', new RegExp(`^${part}\\.allowed: any page may send requests with the cookies`))
    })
  }

  it('does not warn of credentials for specific origins', async () => {
    const { warnings } = await load(
      'cors: { default: { allowed: { credentials: true, origins: ["https://a\\\\.example"] } } }',
    )
    assert.deepEqual(warnings, [])
  })
})
