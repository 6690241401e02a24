import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { ResourceType } from '../../../src/admin/scim/schemas/attribute.ts'
import { GROUP, USER } from '../../../src/admin/scim/schemas/schemas.ts'
import type { ScimServer } from './support.ts'
import { ERROR_SCHEMA, HOST_OF_Z1, OWN, startScimServer, USER_SCHEMA } from './support.ts'

interface Described {
  readonly id: string
  readonly attributes: readonly { readonly name: string; readonly canonicalValues?: readonly string[] }[]
}
interface List<T> {
  readonly totalResults: number
  readonly Resources: readonly T[]
}

describe('SCIM discovery', () => {
  let scim: ScimServer
  before(async () => {
    scim = await startScimServer()
  })
  after(async () => {
    assert.deepEqual(scim.server.faults, [])
    await scim.stop()
  })

  // Covers /scim/v2/ServiceProviderConfig: rule: RFC 7643 §5
  it('returns supported features and limits', async () => {
    const config = (await scim.send('GET', '/ServiceProviderConfig')).json<Record<string, { supported: boolean }>>()
    for (const feature of ['patch', 'bulk', 'filter', 'changePassword', 'sort', 'etag']) {
      assert.equal(config[feature]?.supported, true, feature)
    }
    assert.deepEqual(config['pagination'], {
      cursor: true,
      index: true,
      defaultPaginationMethod: 'index',
      defaultPageSize: 100,
      maxPageSize: 500,
    })
  })

  // Covers /scim/v2/Schemas: rule: RFC 7643 §7
  // Covers /scim/v2/Schemas/{id}: rule: RFC 7643 §7
  // Covers /scim/v2/ResourceTypes: rule: RFC 7643 §6
  // Covers /scim/v2/ResourceTypes/{id}: rule: RFC 7643 §6
  it('returns schemas and resource types singly and as lists, with URLs of the zone', async () => {
    for (const path of ['/Schemas', '/ResourceTypes']) {
      const { totalResults, Resources } = (await scim.send('GET', path)).json<List<Described>>()
      assert.equal(totalResults, Resources.length)
      for (const resource of Resources) {
        const alone = await scim.send('GET', `${path}/${resource.id}`)
        assert.deepEqual(alone.json(), resource)
      }
      assert.equal((await scim.send('GET', `${path}/nothing`)).status, 404)
      assert.equal((await scim.send('GET', `${path}?filter=id%20pr`)).status, 403) // RFC 7644 §4
    }
    const bearer = await scim.tokenOf('z1-native', HOST_OF_Z1)
    const there = await scim.send('GET', '/ServiceProviderConfig', { bearer, host: HOST_OF_Z1 })
    const { meta } = there.json<{ meta: { location: string } }>()
    assert.equal(meta.location, 'http://z1.localhost:8080/scim/v2/ServiceProviderConfig')
  })

  it('omits passwordHash from the schema of users', async () => {
    const core = (await scim.send('GET', `/Schemas/${USER_SCHEMA}`)).json<Described>()
    assert.deepEqual(core.attributes.map(({ name }) => name).slice(0, 3), ['userName', 'name', 'displayName'])
    const own = (await scim.send('GET', `/Schemas/${OWN}`)).json<Described>()
    assert.deepEqual(own.attributes.find(({ name }) => name === 'origin')?.canonicalValues, ['svc'])
    assert.ok(!own.attributes.some(({ name }) => name === 'passwordHash'))
  })

  it('supports filters by every attribute except those in docs/scim.md', async () => {
    const without = new Map<ResourceType, readonly string[]>([
      [
        USER,
        [
          'ims',
          'photos',
          'addresses',
          'entitlements',
          'roles',
          'x509Certificates',
          'customAttributes',
          'password',
          'passwordHash',
        ],
      ],
      [GROUP, []],
    ])
    const parts = new Set(['display', '$ref', 'type', 'resourceType', 'location', 'version', 'schemas'])
    for (const [type, expected] of without) {
      const attributes = [
        ...[...type.common, ...type.schema.attributes].map(attribute => ({ attribute, prefix: '' })),
        ...type.extensions.flatMap(({ id, attributes: own }) =>
          own.map(attribute => ({ attribute, prefix: `${id}:` })),
        ),
      ]
      for (const { attribute, prefix } of attributes) {
        const subs = attribute.subAttributes?.filter(({ name }) => !parts.has(name))
        const paths = subs ? subs.map(({ name }) => `${attribute.name}.${name}`) : [attribute.name]
        for (const path of paths) {
          const filter = `${prefix}${path} pr`
          const { status, text } = await scim.send('GET', type.endpoint, { query: { filter, count: '0' } })
          const isRefused = expected.includes(attribute.name) || parts.has(path)
          assert.equal(status, isRefused ? 400 : 200, `${filter}: ${text}`)
        }
      }
    }
  })

  // Covers /scim/v2: rule: RFC 7644 §3.12, refusals
  it('rejects unknown methods and paths with a SCIM error', async () => {
    for (const [method, path, status] of [
      ['POST', '/Schemas', 405],
      ['DELETE', '/ServiceProviderConfig', 405],
      ['PUT', '/Users', 405],
      ['POST', '/Users/x', 405],
      ['GET', '/Bulk', 405],
      ['GET', '/Nothing', 404],
      ['POST', '/Users/x/y', 404],
      ['GET', '', 404],
      ['GET', `/Users/${'x'.repeat(300)}`, 404],
      ['OPTIONS', '/Users', 405],
      ['OPTIONS', '/Groups/x', 405],
      ['OPTIONS', '/Nothing', 404],
      ['OPTIONS', '', 404],
    ] as const) {
      const answer = await scim.send(method, path, { by: 'root' })
      assert.deepEqual([answer.status, answer.json()['schemas']], [status, [ERROR_SCHEMA]], `${method} ${path}`)
      if (status === 405) assert.ok(answer.headers['allow'])
    }
  })

  it('lists the methods of a path in Allow, with HEAD (RFC 9110 §15.5.6)', async () => {
    for (const method of ['PATCH', 'OPTIONS']) {
      const { headers } = await scim.send(method, '/Users')
      assert.equal(headers['allow'], 'GET, HEAD, POST', method)
    }
  })

  // Covers /scim/v2: rule: RFC 7644 §3.12, URLs
  it('rejects invalid URLs with a SCIM error', async () => {
    for (const path of ['/Users/%zz', '/Groups/%ff', '/%']) {
      const answer = await scim.send('GET', path)
      assert.deepEqual([answer.status, answer.json()['schemas']], [400, [ERROR_SCHEMA]], path)
      assert.match(String(answer.headers['content-type']), /^application\/scim\+json/)
    }
  })

  // Covers /scim/v2: rule: RFC 7644 §3.12, before routing
  it('rejects TRACE and invalid CORS preflights with a SCIM error', async () => {
    const origin = 'https://spa.example'
    const asking = { origin, 'access-control-request-headers': 'authorization' }
    for (const path of ['/Users', '/Groups/x', '/Nothing', '']) {
      for (const [method, headers, status] of [
        ['TRACE', {}, 405],
        ['TRACE', { origin }, 405],
        ['OPTIONS', { ...asking, 'access-control-request-method': 'TRACE' }, 405],
        ['OPTIONS', asking, 400],
      ] as const) {
        const answer = await scim.server.send(`/scim/v2${path}`, { method, headers })
        const what = `${method} ${path} ${JSON.stringify(headers)}`
        assert.deepEqual([answer.status, answer.json()['schemas']], [status, [ERROR_SCHEMA]], what)
        assert.match(String(answer.headers['content-type']), /^application\/scim\+json/)
        assert.equal(answer.headers['x-content-type-options'], 'nosniff')
        if (status === 405) assert.ok(answer.headers['allow'], what)
        if ('origin' in headers) assert.equal(answer.headers['access-control-allow-origin'], '*', what)
      }
    }
    const allowed = { ...asking, 'access-control-request-method': 'PATCH' }
    assert.equal((await scim.server.send('/scim/v2/Users/x', { method: 'OPTIONS', headers: allowed })).status, 200)
  })

  // Covers /scim/v2: rule: RFC 7644 §3.12, origins and limits
  it('rejects foreign origins and rate-limits with a SCIM error', async () => {
    const limited = await startScimServer('standard', {
      config: {
        cors: { default: { allowed: { origins: ['^https://spa\\.example$'] } } },
        ratelimit: {
          loggingOption: 'OnlyLimited',
          limiterMappings: [{ name: 'Scim', withoutCallerID: '1r/s', pathSelectors: ['startsWith:/scim/v2'] }],
        },
      },
    })
    const headers = { origin: 'https://other.example' }
    const refused = await limited.server.send('/scim/v2/Users', { headers })
    assert.deepEqual([refused.status, refused.json()['schemas']], [403, [ERROR_SCHEMA]])
    const first = await limited.server.send('/scim/v2/Users')
    assert.equal(first.status, 401)
    const second = await limited.server.send('/scim/v2/Users')
    assert.deepEqual([second.status, second.json()['schemas']], [429, [ERROR_SCHEMA]])
    assert.equal(second.headers['retry-after'], '1')
    await limited.stop()
  })

  // Covers /scim/v2: rule: RFC 9110 §15.5.16
  it('rejects other content types with 415', async () => {
    for (const [method, path] of [
      ['POST', '/Users'],
      ['PUT', '/Groups/x'],
      ['POST', '/.search'],
      ['POST', '/Bulk'],
    ] as const) {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'json']) {
        const answer = await scim.send(method, path, { body: '{}', headers: { 'content-type': type } })
        assert.deepEqual([answer.status, answer.json()['schemas']], [415, [ERROR_SCHEMA]], `${path} ${type}`)
        assert.equal(answer.json()['scimType'], undefined)
        assert.equal(answer.headers['accept'], 'application/scim+json, application/json')
      }
    }
  })

  it('rejects unauthorized callers with a SCIM error and a challenge', async () => {
    for (const [bearer, status] of [
      ['x', 401],
      [await scim.tokenOf('stranger'), 403],
    ] as const) {
      const answer = await scim.send('GET', '/Schemas', { bearer })
      assert.equal(answer.status, status)
      assert.deepEqual(answer.json()['schemas'], [ERROR_SCHEMA])
      assert.match(String(answer.headers['www-authenticate']), /^Bearer realm="SVC\/oauth"/)
    }
  })
})
