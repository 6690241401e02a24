import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { describeRoutes } from '../../../src/admin/openapi/document.ts'
import { behaviourOf } from '../../../src/model/compatibility.ts'
import type { CompatibilityMode } from '../../../src/model/compatibility.ts'
import { serviceNamed } from '../../../src/model/service.ts'
import { DEFAULT_SETTINGS } from '../../../src/model/zones/settings.ts'
import { createUrls } from '../../../src/model/urls.ts'
import { SUPPORTED } from '../../../src/oauth/metadata.ts'
import type { RegisteredRoute } from '../../../src/web/route.ts'
import { MODES } from '../../support/oauth.ts'
import type { OpenApi, Schema } from '../../support/openapi.ts'
import { placesOf } from '../../support/openapi.ts'
import { checkOf, errorsOf } from '../../support/openapi-checks.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

/** The schema of the OpenAPI Initiative; it does not check the schemas inside a document. */
const OFFICIAL = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../support/openapi-3.1.schema.json'), 'utf8'),
) as Schema // a JSON Schema

const describedFrom = (routes: readonly RegisteredRoute[], mode: CompatibilityMode, queryString = false) => {
  const behaviour = behaviourOf(mode)
  return describeRoutes({
    routes,
    behaviour,
    service: serviceNamed('svc'),
    urls: createUrls('http://localhost:8080', behaviour),
    settings: { ...DEFAULT_SETTINGS, queryString },
    lists: SUPPORTED,
    version: '1',
    isRateLimited: false,
  })
}

/** Every `$ref` in it. */
function* refsIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, each] of Object.entries(value)) {
    if (name === '$ref' && typeof each === 'string') yield each
    else yield* refsIn(each)
  }
}

function memberAt(document: unknown, pointer: string): unknown {
  const names = pointer.replace('#/', '').split('/')
  return names.reduce<unknown>((value, name) => Reflect.get(Object(value), name), document)
}

const QUERY = { jwt: { token: { queryString: { enabled: true } } } }
const RATES = {
  ratelimit: {
    loggingOption: 'OnlyLimited',
    limiterMappings: [{ name: 'all', global: '9999r/s', pathSelectors: ['all'] }],
  },
}
const SERVICE = ['service', 'service-secret'] as const

/** A kind of server, and a client of it. */
interface Kind {
  readonly name: string
  readonly mode: CompatibilityMode
  readonly config: Readonly<Record<string, unknown>>
  readonly basePath: string
  readonly playground?: true
  readonly basic?: readonly [string, string]
}

const servers: readonly Kind[] = [
  ...MODES.map(mode => ({ name: mode, mode, config: {}, basePath: '' })),
  {
    name: 'the playground',
    mode: 'standard',
    config: {},
    basePath: '',
    playground: true,
    basic: ['app', 'appclientsecret'],
  },
  { name: 'uaa with parameters in the query', mode: 'uaa', config: QUERY, basePath: '' },
  {
    name: 'standard below a path',
    mode: 'standard',
    config: { base_url: 'http://localhost:8080/id' },
    basePath: '/id',
  },
  { name: 'standard with a rate limiter', mode: 'standard', config: RATES, basePath: '' },
]

for (const { name: title, mode, config, basePath, basic = SERVICE, ...kind } of servers) {
  describe(`/openapi.json in ${title}`, () => {
    let server: TestServer
    let document: OpenApi
    before(async () => {
      server = await startServer({ mode, config, ...kind })
      document = (await server.send(`${basePath}/openapi.json`)).json<OpenApi>()
    })
    after(() => server.stop())

    // Covers GET /openapi.json: 200 document
    it('is valid OpenAPI 3.1', () => {
      const check = checkOf(OFFICIAL)
      assert.ok(check(document), errorsOf(check))
    })

    it('has unique operation ids and no dangling references', () => {
      const ids = placesOf(document).map(({ operation }) => operation.operationId)
      assert.equal(new Set(ids).size, ids.length)
      const refs = new Set(refsIn(document))
      assert.ok(refs.size > 20)
      for (const ref of refs) assert.notEqual(memberAt(document, ref), undefined, ref)
    })

    it('declares exactly the path parameters', () => {
      for (const { method, path, operation } of placesOf(document)) {
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
        const declared = (operation.parameters ?? []).filter(each => each.in === 'path').map(each => each.name)
        assert.deepEqual(declared, inPath, `${method} ${path}`)
      }
    })

    it('has valid schemas and matching examples', () => {
      type Content = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
      const compiled = new Set<unknown>()
      const compile = (schema: Schema) => {
        const check = checkOf(schema, document)
        compiled.add(check)
        return check
      }
      for (const { method, path, operation } of placesOf(document)) {
        for (const { schema } of operation.parameters ?? []) compile(schema)
        const bodies = [operation.requestBody, ...Object.values(operation.responses)]
        for (const body of bodies) {
          const content = Reflect.get(Object(body), 'content') as Content | undefined // absent from a reference
          for (const { schema, example } of Object.values(content ?? {})) {
            const validate = compile(schema)
            if (example === undefined) continue
            assert.ok(validate(example), `${method} ${path}: ${JSON.stringify(validate.errors)}`)
          }
        }
      }
      assert.ok(compiled.size > 20)
    })

    it('has examples with the service name of the server', () => {
      assert.doesNotMatch(
        JSON.stringify(document),
        /"(?:origin|originKey|zoneId)":"uaa"|"uaa\.(?:admin|user|resource)"/,
      )
    })

    // Covers GET /openapi.json: rule: every route and who may call it
    it('documents every route that can succeed, with its authorization', async () => {
      const documented = new Map(placesOf(document).map(place => [`${place.method} ${place.path}`, place.operation]))
      const served = (await server.app.routes()).filter(({ method, refuses }) => method !== 'HEAD' && !refuses)
      const below = (url: string) => (`${url}/`.startsWith(`${basePath}/`) ? url.slice(basePath.length) || '/' : url)
      // With a base path, some routes are also served at the root.
      assert.equal(documented.size, new Set(served.map(({ method, url }) => `${method} ${below(url)}`)).size)
      for (const { method, url, access } of served) {
        const path = below(url)
        const pattern = path.replace(/[.]/g, '\\.').replace(/:\w+/g, '{\\w+}').replace(/\*$/, '{\\w+}')
        const [, operation] = [...documented].find(([each]) => new RegExp(`^${method} ${pattern}$`).test(each)) ?? []
        assert.ok(operation, `${method} ${url}`)
        const reported = operation.security.flatMap(each => Object.entries(each))
        if (access.by === 'anyone') assert.deepEqual(operation.security, [])
        if (access.by !== 'bearer') continue
        const rights = [
          ...(access.scopes ?? []).map(scope => ['bearer', [scope]]),
          ...(access.ofDefaultZone ?? []).map(scope => ['bearerOfDefaultZone', [scope]]),
        ]
        assert.deepEqual(reported, rights.length > 0 ? rights : [['bearer', []]], `${method} ${url}`)
        const names = (operation.parameters ?? []).map(({ name }) => name)
        assert.equal(names.includes('X-Identity-Zone-Id'), access.acrossZones === true, `${method} ${url}`)
      }
    })

    it('documents errors without a body', () => {
      const answer = placesOf(document).find(({ method, path }) => method === 'PUT' && path === '/identity-zones/{id}')
      const { description, 'x-body-may-be-absent': isAbsent = false } = Object(
        answer?.operation.responses[404],
      ) as Schema
      assert.equal(isAbsent, mode === 'uaa')
      assert.equal(
        String(description).startsWith('Zone not found. Without a body.'),
        mode === 'uaa',
        String(description),
      )
    })

    it('has a description of every route', async () => {
      const { undescribed } = describedFrom(await server.app.routes(), mode, 'jwt' in config)
      if (basePath === '') assert.deepEqual(undescribed, [], 'add them to a file in src/admin/openapi/')
      for (const { method, path, operation } of placesOf(document)) {
        assert.ok(!operation.tags.includes('Other'), `${method} ${path} needs a description in src/admin/openapi/`)
      }
    })

    it('describes only routes that are served', {
      skip: basePath !== '' && 'the routes begin with the path',
    }, async () => {
      assert.deepEqual(
        describedFrom(await server.app.routes(), mode, 'jwt' in config).unrouted,
        [],
        'remove them from src/admin/openapi/',
      )
    })

    it('omits only routes that always refuse', async () => {
      const refusing = (await server.app.routes()).filter(({ refuses }) => refuses)
      assert.ok(refusing.length > 20)
      const { access_token } = (
        await server.send(`${basePath}/oauth/token`, {
          form: { grant_type: 'client_credentials' },
          basic,
        })
      ).json<{ access_token: string }>()
      for (const { method, url } of refusing) {
        const answer = await server.send(url, { method, bearer: access_token })
        assert.ok([403, 404, 405].includes(answer.status), `${method} ${url}: ${answer.status}`)
      }
    })
  })
}

describe('A route without a description', () => {
  it('is documented from the route table and reported', () => {
    const access = { by: 'bearer', scopes: ['plants.read'] } as const
    const planted = { method: 'GET', url: '/planted/:id', access, audience: 'api' } as const
    const { document, undescribed, unrouted } = describedFrom([planted], 'standard')
    assert.deepEqual(undescribed, ['GET /planted/:id'])
    assert.ok(unrouted.includes('POST /oauth/token'))
    const operation = (document as unknown as OpenApi).paths['/planted/{id}']?.['get'] // the JSON form of the same document
    assert.deepEqual(operation?.security, [{ bearer: ['plants.read'] }])
    assert.deepEqual(operation?.tags, ['Other'])
    assert.deepEqual(Object.keys(operation?.responses ?? {}), ['400', '401', '403', '404', '405', '414', '500', '503'])
  })

  it('is omitted if it always refuses', () => {
    const refusal = {
      method: 'PUT',
      url: '/planted',
      access: { by: 'client' },
      audience: 'api',
      refuses: true,
    } as const
    assert.deepEqual(describedFrom([refusal], 'standard').undescribed, [])
  })
})

describe('GET /openapi.json', () => {
  for (const mode of MODES) {
    // Covers GET /openapi.json: 304 not modified
    it(`requires no authentication, and answers 304 to a matching ETag, in ${mode}`, async () => {
      const server = await startServer({ mode })
      try {
        const answer = await server.send('/openapi.json', { host: 'nowhere.example' })
        assert.equal(answer.status, 200)
        assert.equal(answer.json<{ openapi: string }>().openapi, '3.1.1')
        assert.match(String(answer.headers['content-type']), /^application\/json/)
        assert.equal(answer.headers['cache-control'], 'public, max-age=300')
        assert.equal(answer.headers['set-cookie'], undefined)
        const tag = String(answer.headers['etag'])
        assert.match(tag, /^"[\w-]+"$/)
        for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
          const again = await server.send('/openapi.json', { headers: { 'if-none-match': condition } })
          assert.equal(again.status, 304, condition)
          assert.equal(again.text, '')
          assert.equal(again.headers['etag'], tag)
        }
        assert.equal((await server.send('/openapi.json', { headers: { 'if-none-match': '"other"' } })).status, 200)
        assert.equal((await server.send('/openapi.json')).text, answer.text)
        assert.equal((await server.send('/openapi.json', { method: 'HEAD' })).status, 200)
      } finally {
        await server.stop()
      }
    })
  }

  it('reveals no accounts, secrets or keys', async () => {
    const server = await startServer()
    const { text } = await server.send('/openapi.json')
    await server.stop()
    assert.doesNotMatch(text, /marissa|joel|app-secret|PRIVATE KEY-----/)
  })
})

describe('GET /docs', () => {
  for (const mode of MODES) {
    // Covers GET /docs: page: every operation by area
    it(`lists every operation with its authorization, without inline scripts, in ${mode}`, async () => {
      const server = await startServer({ mode })
      try {
        const document = (await server.send('/openapi.json')).json<OpenApi>()
        const page = await server.send('/docs', { headers: { 'accept-language': 'de' } })
        assert.equal(page.status, 200)
        assert.match(String(page.headers['content-type']), /^text\/html/)
        assert.match(page.text, /<html lang="en"/)
        assert.equal(page.headers['content-language'], 'en')
        assert.equal(page.text.match(/<script/g)?.length, 2, 'its own and the script of every page')
        assert.match(
          page.text,
          /<script src="\/resources\/docs\.js\?v=[\w-]+" data-explorer="\/resources\/rapidoc\.js\?v=/,
        )
        assert.doesNotMatch(page.text, /<script>|<iframe|style=|src="(?!\/|data:image\/)|\son\w+=/)
        assert.match(page.text, /<a href="\/openapi.json">/)
        assert.equal(page.text.split('<details').length - 1, placesOf(document).length)
        const plain = page.text.replaceAll('<wbr>', '')
        for (const { method, path } of placesOf(document)) {
          assert.ok(plain.includes(`>${method}</code> <code>${path}</code>`), `${method} ${path}`)
        }
        assert.match(
          page.text,
          /A bearer token with one of: svc\.admin, clients\.read, clients\.admin, zones\.\{zone\}\.admin of the default zone/,
        )
      } finally {
        await server.stop()
      }
    })
  }

  it('links to /openapi.json of the zone in the path', async () => {
    const server = await startServer()
    try {
      const page = await server.send('/z/default/docs')
      assert.match(page.text, /<a href="\/z\/default\/openapi.json">/)
      assert.equal((await server.send('/z/default/openapi.json')).status, 200)
      assert.equal((await server.send('/docs', { host: 'nowhere.localhost:8080' })).status, 404)
    } finally {
      await server.stop()
    }
  })
})
