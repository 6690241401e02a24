import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { loadText, problemsOf, temporaryFolder } from '../support/config.ts'

const folder = temporaryFolder()

describe('database_options', () => {
  it('leave the choice between notifications and polling open by default', async () => {
    assert.equal((await loadText(folder, '{}')).databaseOptions.changes, undefined)
    const config = await loadText(folder, 'database_options: { changes: poll }')
    assert.equal(config.databaseOptions.changes, 'poll')
  })

  it('let the server migrate at start by default', async () => {
    assert.equal((await loadText(folder, '{}')).databaseOptions.migratesAtStart, true)
    const config = await loadText(folder, 'database_options: { migrate_at_start: false }')
    assert.equal(config.databaseOptions.migratesAtStart, false)
  })

  it('add the other parts of the database URL to replica hosts', async () => {
    assert.deepEqual((await loadText(folder, '{}')).databaseOptions.replicas, [])
    const hosts = 'r1.example, "r2.example:5433", "10.0.0.7", "[fd00::7]:5432"'
    const of = async (database: string) =>
      (await loadText(folder, `database: "${database}"\ndatabase_options: { read_replicas: [${hosts}] }`))
        .databaseOptions.replicas
    assert.deepEqual(await of('postgres://u:p%40@db.example:6000/latchkey?sslmode=verify-full'), [
      'postgres://u:p%40@r1.example:6000/latchkey?sslmode=verify-full',
      'postgres://u:p%40@r2.example:5433/latchkey?sslmode=verify-full',
      'postgres://u:p%40@10.0.0.7:6000/latchkey?sslmode=verify-full',
      'postgres://u:p%40@[fd00::7]:5432/latchkey?sslmode=verify-full',
    ])
    const ofSocket = await of('postgres://u:p@localhost/latchkey?host=/run/postgresql&port=6000&sslmode=require')
    assert.equal(ofSocket[0], 'postgres://u:p@r1.example/latchkey?sslmode=require')
  })

  const refusedReplicas = [
    {
      name: 'for SQLite',
      database: 'sqlite:./x.db',
      hosts: 'r1',
      problem: 'read_replicas: needs a PostgreSQL as database',
    },
    {
      name: 'twice',
      hosts: 'r1, r1',
      problem: 'read_replicas: must not contain a host twice',
    },
    {
      name: 'with an invalid port',
      hosts: '"r1:99999"',
      problem: 'read_replicas[0]: must be a host name or an IP address, perhaps with a port',
    },
    {
      name: 'for a URL without a host',
      database: 'postgres://u@/latchkey?host=/run/postgresql',
      hosts: 'r1',
      problem: 'read_replicas: requires a database URL with one host, or with none and ?host=',
    },
  ]
  for (const { name, database = 'postgres://u:p@db.example/latchkey', hosts, problem } of refusedReplicas) {
    it(`reject replicas ${name}`, async () => {
      const text = `database: "${database}"\ndatabase_options: { read_replicas: [${hosts}] }`
      assert.deepEqual(await problemsOf(loadText(folder, text)), [`database_options.${problem}`])
    })
  }

  it('reject URLs of replicas, which could have passwords, without repeating them', async () => {
    const text = 'database: postgres://db/x\ndatabase_options: { read_replicas: ["postgres://u:hidden@r1/x"] }'
    const [problem = ''] = await problemsOf(loadText(folder, text))
    assert.match(problem, /^database_options\.read_replicas\[0\]: must match /)
    assert.doesNotMatch(problem, /hidden/)
  })

  it('warn of replicas without verified TLS', async () => {
    const warningsOf = async (database: string) =>
      (
        await loadText(
          folder,
          `database: "${database}"\nsmtp: { host: localhost }\ndatabase_options: { read_replicas: [r1.example, localhost] }`,
        )
      ).warnings
    const [warning = '', ...others] = await warningsOf('postgres://u:p@localhost/x')
    assert.match(warning, /^database_options\.read_replicas: the connection to r1\.example has no verified TLS/)
    assert.deepEqual(others, [])
    assert.deepEqual(await warningsOf('postgres://u:p@localhost/x?sslmode=verify-full'), [])
  })

  it('reject a URL that pg cannot parse correctly, without repeating it', async () => {
    const urls = [
      'postgres://u:hid?den@db/x',
      'postgres://u:hid/den@db/x',
      'postgres://u:hid#den@db/x',
      'postgres://u:hidden@a:1,b:2/x',
      'postgres://u:hidden@a,b/x',
      'postgres://u:hidden@a/x?host=a,b',
      'postgres://u:hidden@db:99999/x',
    ]
    for (const url of urls) {
      const [problem = '', ...others] = await problemsOf(loadText(folder, `database: "${url}"`))
      assert.match(problem, /^database: must be a URL with one host; special characters .* percent-encoded/, url)
      assert.deepEqual(others, [])
      assert.doesNotMatch(problem, /hid/)
    }
  })

  it('reject an unknown sslmode, which pg would ignore', async () => {
    assert.deepEqual(await problemsOf(loadText(folder, 'database: postgres://u:p@db/x?sslmode=verify_full')), [
      'database: sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full, no-verify',
    ])
  })

  it('reject a TLS file that cannot be read', async () => {
    const problemsWith = (query: string) =>
      problemsOf(loadText(folder, `database: postgres://u:hidden@db/x?sslmode=verify-full&${query}`))
    assert.deepEqual(await problemsWith('sslrootcert=/no/ca.pem'), [
      'database: sslrootcert /no/ca.pem cannot be read: no such file',
    ])
    assert.deepEqual(await problemsWith(`sslkey=${folder}`), [
      `database: sslkey ${folder} cannot be read: it is not a regular file`,
    ])
  })

  it('reject an unknown value for changes', async () => {
    assert.deepEqual(await problemsOf(loadText(folder, 'database_options: { changes: guess }')), [
      'database_options.changes: must be one of listen, poll',
    ])
  })
})
