// The Helm chart against the image and the server, without Helm: docs/deploy.md says which tools it was checked with.
import assert from 'node:assert/strict'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { temporaryFolder } from '../support/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const CHART = join(ROOT, 'packaging/helm/latchkey')
const read = (path: string): string => readFileSync(join(CHART, path), 'utf8')

const values = parse(read('values.yaml'))
const templates = globSync('templates/*', { cwd: CHART }).map(read).join('\n')
const deployment = read('templates/deployment.yaml')

/** The values required from an operator. */
const given = (config: Readonly<Record<string, unknown>> = {}, more = {}): unknown => ({
  ...values,
  secretName: 'latchkey',
  config: { ...values.config, base_url: 'https://id.example.org', ...config },
  ...more,
})

const usersOfZone = (password: string): unknown => ({ id: 'z1', bootstrap: { users: [{ userName: 'ann', password }] } })

const withProvider = (config: string | Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
  bootstrap: { identity_providers: [{ type: 'oidc1.0', originKey: 'corp', config }] },
})

/** The paths of all values: `service.port`; a map without members is a value of its own. */
function pathsOf(value: unknown, path: string): readonly string[] {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMap || Object.keys(value).length === 0) return [path]
  return Object.entries(value).flatMap(([name, member]) => pathsOf(member, path === '' ? name : `${path}.${name}`))
}

describe('Chart values', () => {
  const accepts = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(read('values.schema.json')))

  it('satisfy the schema once address and secret are set', () => {
    assert.equal(accepts(values), false)
    assert.ok(accepts(given()), JSON.stringify(accepts.errors))
  })

  const refused = [
    { name: 'a database password', values: given({ database: 'postgres://a:b@c/d' }) },
    { name: 'a master key', values: given({ master_key: '0'.repeat(64) }) },
    { name: 'a client secret', values: given({ bootstrap: { clients: [{ client_secret: 'hidden' }] } }) },
    {
      name: 'a user’s password in a zone',
      values: given({ bootstrap: { identity_zones: [usersOfZone('hidden')] } }),
    },
    { name: 'a mail server password', values: given({ smtp: { password: 'hidden' } }) },
    { name: 'a private key', values: given({ signing_keys: { keys: { a: { pem: '-----BEGIN PRIVATE KEY-----' } } } }) },
    {
      name: 'a signing key of a zone',
      values: given({ zone_config: { tokenPolicy: { keys: { a: { signingKey: 'hidden' } } } } }),
    },
    {
      name: 'a private key for authentication at a provider',
      values: given(withProvider({ jwtClientAuthentication: { kid: 'a', key: '-----BEGIN PRIVATE KEY-----' } })),
    },
    { name: 'a shared key of a provider', values: given(withProvider({ tokenKey: 'hidden' })) },
    {
      name: 'a shared key of a provider, as JWK',
      values: given(withProvider({ tokenKey: '{"kty":"oct","k":"aGlkZGVu"}' })),
    },
    {
      name: 'a secret in the settings of a provider, as JSON',
      values: given(withProvider('{"relyingPartyId": "a", "relyingPartySecret": "hidden"}')),
    },
    { name: 'TLS in pods, where probes would fail', values: given({ listen: { tls: {} } }) },
    { name: 'a base URL without a host', values: given({ base_url: 'id.example.org' }) },
    { name: 'a misspelled value', values: given({}, { replica: 2 }) },
    { name: 'an invalid digest', values: given({}, { image: { repository: 'latchkey', digest: 'sha256:1' } }) },
    { name: 'no secret', values: given({}, { secretName: '' }) },
  ]
  for (const { name, values: wrong } of refused) {
    it(`are rejected with ${name}`, () => assert.equal(accepts(wrong), false))
  }

  it('may refer to variables and files instead of secrets', () => {
    const clients = [{ client_secret: '${SHOP_SECRET}' }, { client_secret_file: '/run/secrets/latchkey/shop_secret' }]
    const policy = { password: { policy: { global: { minLength: 12 } } } }
    const named = given({ bootstrap: { clients, identity_zones: [usersOfZone('${ANN}')] }, ...policy })
    assert.ok(accepts(named), JSON.stringify(accepts.errors))
  })

  it('may refer to variables in the settings of a provider, as JSON', () => {
    const config = '{"relyingPartyId":"a","relyingPartySecret":"${CORP}","bindPassword":""}'
    assert.ok(accepts(given(withProvider(config))), JSON.stringify(accepts.errors))
  })

  it('may contain public keys of providers', () => {
    for (const tokenKey of ['-----BEGIN PUBLIC KEY-----', '{"kty":"RSA","n":"AQAB","e":"AQAB"}', '${SHARED}']) {
      assert.ok(accepts(given(withProvider({ tokenKey }))), tokenKey)
    }
    for (const own of [true, { kid: 'a', key: '${OWN_KEY}', cert: '-----BEGIN CERTIFICATE-----' }]) {
      assert.ok(accepts(given(withProvider({ jwtClientAuthentication: own }))), JSON.stringify(accepts.errors))
    }
  })

  it('are all used and defined', () => {
    const used = new Set([...templates.matchAll(/\.Values\.([\w.]*\w)/g)].map(([, path = '']) => path))
    const known = pathsOf(values, '')
    const isBelow = (path: string, other: string): boolean => path === other || path.startsWith(`${other}.`)
    assert.deepEqual(
      known.filter(path => ![...used].some(other => isBelow(path, other))),
      [],
    )
    assert.deepEqual(
      [...used].filter(path => !known.some(other => isBelow(path, other) || isBelow(other, path))),
      [],
    )
  })

  it('produce a valid configuration, with metrics on the port of the Service', async () => {
    const folder = temporaryFolder()
    const management = { host: '0.0.0.0', port: values.metrics.port }
    const [, merged = ''] = /"management" (\(dict .*?\)\))/.exec(templates) ?? []
    assert.equal(merged, '(dict "host" "0.0.0.0" "port" (int .Values.metrics.port))')
    const base = {
      ...values.config,
      base_url: 'https://id.example.org',
      smtp: { host: 'localhost' },
      listen: { management },
    }
    const files = { database_file: 'database_url', master_key_file: 'master_key' }
    for (const [key, name] of Object.entries(files)) assert.equal(base[key], `/run/secrets/latchkey/${name}`)
    writeFileSync(join(folder, 'database_url'), 'postgres://a:b@db.example.org/latchkey?sslmode=verify-full')
    writeFileSync(join(folder, 'master_key'), '0'.repeat(64))
    writeFileSync(join(folder, 'latchkey.yml'), JSON.stringify({ ...base, ...files }))
    const config = await loadConfig({ options: { config: 'latchkey.yml' }, env: {}, cwd: folder })
    assert.deepEqual(config.warnings, [])
    assert.equal(config.listen.port, Number(/"port" (\d+) \.Values\.config/.exec(templates)?.[1]))
  })
})

describe('Chart templates', () => {
  it('probe /livez for restarts and /readyz for traffic', () => {
    const probes = [...deployment.matchAll(/^ +(\w+)Probe:\n +httpGet: \{ path: .*?\}\}(\/\w+), port: http \}/gm)]
    const paths = Object.fromEntries(probes.map(([, name = '', path = '']) => [name, path]))
    assert.deepEqual(paths, { liveness: '/livez', readiness: '/readyz', startup: '/livez' })
    const health = readFileSync(join(ROOT, 'src/ops/health.ts'), 'utf8')
    for (const path of Object.values(paths)) assert.ok(health.includes(`'${path}'`), path)
  })

  it('use the image’s account with minimal privileges', () => {
    const [, uid = ''] = /^USER (\d+):\1$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')) ?? []
    for (const line of [
      'runAsNonRoot: true',
      `runAsUser: ${uid}`,
      `fsGroup: ${uid}`,
      'seccompProfile: { type: RuntimeDefault }',
      'allowPrivilegeEscalation: false',
      'readOnlyRootFilesystem: true',
      'capabilities: { drop: [ALL] }',
      'automountServiceAccountToken: false',
    ]) {
      assert.match(deployment, new RegExp(`^ +${line.replaceAll(/[{}[\]]/g, '\\$&')}$`, 'm'))
    }
  })

  it('mount the configuration where the image reads it', () => {
    assert.match(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'), / LATCHKEY_CONFIG=\/etc\/latchkey\/latchkey\.yml /)
    assert.match(deployment, /\{ name: config, mountPath: \/etc\/latchkey, readOnly: true \}/)
    assert.match(read('templates/configmap.yaml'), /^ {2}latchkey\.yml: \|$/m)
  })

  it('reject metrics on the server’s port', () => {
    const [, condition] = /\{\{- if (eq .*?) \}\}\{\{ fail "metrics\.port must not be the port/.exec(templates) ?? []
    assert.equal(condition, 'eq (int .Values.metrics.port) (int (include "latchkey.port" .))')
  })

  it('have the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    assert.equal(parse(read('Chart.yaml')).appVersion, version)
  })
})
