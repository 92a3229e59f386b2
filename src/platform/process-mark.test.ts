import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { alone, leaveMark, otherMarks, processStart, removeMark } from './process-mark.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'assay-marks-'))
  after(() => rmSync(path, { recursive: true }))
  return path
}

test('twenty contenders for the lock: one holds it at a time, and each gets its turn', async () => {
  const lock = folder()
  let inside = 0
  let turns = 0
  const enter = () =>
    alone(lock, 600_000, async () => {
      inside++
      assert.equal(inside, 1)
      await nextTurn()
      assert.equal(inside, 1)
      inside--
      turns++
    })
  await Promise.all(Array.from({ length: 20 }, enter))
  assert.equal(turns, 20)
  assert.deepEqual(readdirSync(lock), [])
})

test('the lock is free after its work failed', async () => {
  const lock = folder()
  await assert.rejects(
    alone(lock, 1_000, () => Promise.reject(new Error('broken'))),
    /broken/,
  )
  assert.equal(await alone(lock, 1_000, () => Promise.resolve('fine')), 'fine')
})

test('a mark of a dead process, or of another process that had its id, is removed and does not count', () => {
  const marks = folder()
  const mine = leaveMark(marks)
  const second = leaveMark(marks)
  const pidMax = 4_194_304
  writeFileSync(join(marks, `${pidMax + 1}-1-dead`), '')
  assert.deepEqual(otherMarks(mine), [second.name])
  if (processStart(process.pid) !== '0') {
    writeFileSync(join(marks, `${process.pid}-1-earlier`), '')
    assert.deepEqual(otherMarks(mine), [second.name])
  }
  assert.deepEqual(readdirSync(marks).sort(), [mine.name, second.name].sort())
  removeMark(second)
  assert.deepEqual(otherMarks(mine), [])
})

test('a process that waits beyond the deadline learns which process holds the lock', async () => {
  const lock = folder()
  leaveMark(lock)
  await assert.rejects(
    alone(lock, 1, () => Promise.resolve()),
    new RegExp(`Process ${process.pid} holds`),
  )
})
