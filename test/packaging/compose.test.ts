// packaging/compose.yaml against the image and the server: paths, ports, secrets and settings that belong together.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config.ts'
import { temporaryFolder } from '../support/config.ts'

const PACKAGING = join(import.meta.dirname, '../../packaging')
const read = (path: string): string => readFileSync(join(PACKAGING, path), 'utf8')

interface Service {
  readonly image: string
  readonly volumes: readonly string[]
  readonly tmpfs: readonly string[]
  readonly secrets: readonly string[]
  readonly environment: Readonly<Record<string, string | null>>
  readonly ports?: readonly string[]
  readonly user?: string
  readonly network_mode?: string
  readonly depends_on?: unknown
  readonly healthcheck?: unknown
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
  readonly security_opt: readonly string[]
  readonly ulimits?: Readonly<Record<string, number>>
}
const compose: {
  readonly services: { readonly latchkey: Service; readonly postgres: Service }
  readonly secrets: Readonly<Record<string, { readonly file: string }>>
  readonly networks: { readonly default: { readonly ipam: { readonly config: readonly { gateway: string }[] } } }
} = parse(read('compose.yaml'))
const { latchkey, postgres } = compose.services
const dockerfile = read('../Dockerfile')

/** Where a volume of the service is mounted. */
const targetOf = (service: Service, source: string): string =>
  service.volumes.find(volume => volume.startsWith(`${source}:`))?.split(':')[1] ?? 'nowhere'

describe('packaging/compose.yaml', () => {
  it('gives containers minimal privileges', () => {
    for (const service of [latchkey, postgres]) {
      const { read_only, cap_drop, security_opt } = service
      assert.deepEqual([read_only, cap_drop, security_opt], [true, ['ALL'], ['no-new-privileges:true']])
    }
    assert.deepEqual(latchkey.ulimits, { core: 0 })
    assert.equal(postgres.user, '999:999')
    assert.equal(postgres.network_mode, 'none')
    assert.deepEqual(latchkey.ports, ['127.0.0.1:8080:8080'])
  })

  it('has the version of the package', () => {
    const { version } = JSON.parse(read('../package.json'))
    assert.equal(latchkey.image, `latchkey:${version}`)
  })

  it('waits for a healthy database', () => {
    assert.deepEqual(latchkey.depends_on, { postgres: { condition: 'service_healthy' } })
    assert.ok(postgres.healthcheck)
  })

  it('mounts file, data and port where the image has them', () => {
    assert.match(dockerfile, new RegExp(`LATCHKEY_CONFIG=${targetOf(latchkey, './compose.latchkey.yml')} `))
    assert.match(dockerfile, new RegExp(`^VOLUME ${latchkey.tmpfs.join()}$`, 'm'))
    assert.match(dockerfile, /^EXPOSE 8080$/m)
  })

  it('contains no secret, and defines each one that a service uses', () => {
    const named = [latchkey, postgres].flatMap(service => service.secrets)
    assert.deepEqual(named.toSorted(), Object.keys(compose.secrets).toSorted())
    for (const [name, { file }] of Object.entries(compose.secrets)) assert.equal(file, `./secrets/${name}`)
    assert.match(read('../.gitignore'), /^\/packaging\/secrets\/$/m)
    assert.deepEqual(Object.values(latchkey.environment), [null, null])
  })

  it('has a configuration that is valid without warnings', async () => {
    const folder = temporaryFolder()
    mkdirSync(join(folder, 'secrets'))
    const socket = targetOf(latchkey, 'database-socket')
    assert.equal(socket, targetOf(postgres, 'database-socket'))
    writeFileSync(join(folder, 'secrets/database_url'), `postgres://latchkey:x@localhost/latchkey?host=${socket}`)
    writeFileSync(join(folder, 'secrets/master_key'), '0'.repeat(64))
    const text = read('compose.latchkey.yml').replaceAll('/run/secrets/', 'secrets/')
    for (const [, name = ''] of text.matchAll(/_file: secrets\/(.*)/g))
      assert.ok(latchkey.secrets.includes(basename(name)))
    writeFileSync(join(folder, 'latchkey.yml'), text)
    const env = Object.fromEntries(Object.keys(latchkey.environment).map(name => [name, 'a-secret']))
    const config = await loadConfig({ options: { config: 'latchkey.yml' }, env, cwd: folder })
    assert.deepEqual(config.warnings, [])
    assert.equal(config.listen.port, 8080)
    assert.match(read('compose.latchkey.yml'), new RegExp(compose.networks.default.ipam.config[0]?.gateway ?? 'none'))
  })
})
