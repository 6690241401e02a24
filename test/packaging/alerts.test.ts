// The alerting rules against series that fire them. promtool evaluates the cases where it is installed.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
const CASES = 'test/packaging/alerts.promtool.yml'
const hasPromtool = spawnSync('promtool', ['--version']).error === undefined

const read = (path: string): unknown => parse(readFileSync(join(ROOT, path), 'utf8'))

const { groups } = read('docs/alerts.yml') as {
  groups: { rules: { alert: string; labels: { severity: string }; annotations: Record<string, string> }[] }[]
}
const { tests } = read(CASES) as {
  tests: { name: string; promql_expr_test: { exp_samples: { labels: string }[] }[] }[]
}

/** The labels of each alert that fires in a case. */
const fired = tests.flatMap(each =>
  each.promql_expr_test
    .flatMap(expected => expected.exp_samples)
    .map(({ labels }) =>
      Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value])),
    ),
)

describe('docs/alerts.yml', () => {
  for (const { alert, labels, annotations } of groups.flatMap(({ rules }) => rules)) {
    it(`has a case in which ${alert} fires, with the labels in its texts`, () => {
      const alerts = fired.filter(({ alertname }) => alertname === alert)
      assert.notEqual(alerts.length, 0)
      const named = [
        ...Object.values(annotations)
          .join(' ')
          .matchAll(/\$labels\.(\w+)/g),
      ].map(([, name = '']) => name)
      for (const each of alerts) {
        assert.equal(each['severity'], labels.severity)
        for (const name of named) assert.ok(each[name], name)
      }
    })
  }

  it('passes its cases', { skip: !hasPromtool && 'promtool is not installed' }, () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', CASES], { cwd: ROOT, encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  })
})
