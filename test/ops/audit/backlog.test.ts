import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AuditEvent } from '../../../src/model/audit/event.ts'
import { createBacklogs } from '../../../src/ops/audit/backlog.ts'

describe('createBacklogs', () => {
  const at = new Date(0)
  const event = (zoneId: string, data: string): AuditEvent => ({
    type: 'ClientUpdateSuccess',
    zoneId,
    principal: 'some-client',
    data,
  })

  /** How many of up to 60,000 events are kept. */
  function keptOf(data: (index: number) => string, zone: (index: number) => string): number {
    const backlogs = createBacklogs()
    let kept = 0
    while (kept < 60_000 && backlogs.add(event(zone(kept), data(kept)), at)) kept += 1
    return kept
  }

  it('holds 20,000 typical events of a zone and 50,000 in total', () => {
    assert.equal(
      keptOf(
        () => 'short',
        () => 'z',
      ),
      20_000,
    )
    assert.equal(
      keptOf(
        () => 'short',
        index => `z${index % 10}`,
      ),
      50_000,
    )
  })

  it('limits the memory of large events', () => {
    const large = (index: number): string => `${index}`.padEnd(4000, 'x')
    const kept = keptOf(large, () => 'z')
    assert.ok(kept * 4000 <= 20_000_000, `${kept} events`)
    const ofAll = keptOf(large, index => `z${index % 10}`)
    assert.ok(ofAll * 4000 <= 50_000_000, `${ofAll} events`)
    assert.ok(kept > 3000 && ofAll > 8000)
  })

  it('accepts events again after others were taken', () => {
    const backlogs = createBacklogs()
    while (backlogs.add(event('z', 'x'.repeat(4000)), at));
    const backlog = backlogs.zones.get('z')
    assert.ok(backlog)
    while (backlogs.take(backlog).length > 0);
    assert.equal(backlogs.waiting(), 0)
    assert.equal(backlogs.add(event('z', 'x'), at), true)
  })
})
