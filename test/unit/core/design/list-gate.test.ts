import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFailure } from '../../../../src/base/errors.ts'
import { ListGate } from '../../../../src/core/design/list-gate.ts'

const isBusy = (thrown: unknown): boolean => isFailure(thrown, 'sandbox_unavailable')

test('so many enter, the others wait in line', async () => {
  const gate = new ListGate({ runningMax: 2, waitersMax: 2, waitMsMax: 60_000 })
  const first = await gate.enter()
  const second = await gate.enter()
  const order: string[] = []
  const third = gate.enter().then(leave => {
    order.push('third')
    return leave
  })
  const fourth = gate.enter().then(leave => {
    order.push('fourth')
    return leave
  })
  await assert.rejects(gate.enter(), isBusy)
  first()
  first()
  await third
  assert.deepEqual(order, ['third'], 'leaving twice makes room for one only')
  second()
  await fourth
  assert.equal(gate.running, 2)
  for (const leave of [await third, await fourth]) leave()
  assert.equal(gate.running, 0)
  ;(await gate.enter())()
})

test('nobody waits for ever, and who gave up takes no place', async () => {
  const gate = new ListGate({ runningMax: 1, waitersMax: 5, waitMsMax: 20 })
  const leave = await gate.enter()
  await assert.rejects(gate.enter(), isBusy)
  leave()
  assert.equal(gate.running, 0)
})
