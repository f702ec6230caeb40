;; The one thing that has to be fast: out = x times the transpose of w, all float32, row after row.
;;
;;   x    rows × depth       what a layer reads, a token a row
;;   w    columns × depth    a layer's weights, as PyTorch's nn.Linear keeps them
;;   out  rows × columns
;;
;; Both operands are read along their rows, so four neighbours fit into one SIMD register at every
;; step. A tile of 2 rows × 4 columns is worked out together: 6 loads for 8 products of four.
;; The caller (kernel.js) sees to it that depth is a multiple of 4 and that there are at least
;; 4 columns. Addresses are bytes. To assemble: wat2wasm kernel.wat
(module
  (import "page" "memory" (memory 1))

  ;; Four registers of partial sums to one register that holds the sum of each.
  (func $sums (param $a v128) (param $b v128) (param $c v128) (param $d v128) (result v128)
    (local $ab v128) (local $cd v128)
    (local.set $ab (f32x4.add ;; a0+a2 b0+b2 a1+a3 b1+b3
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a) (local.get $b))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $a) (local.get $b))))
    (local.set $cd (f32x4.add
      (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $c) (local.get $d))
      (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $c) (local.get $d))))
    (f32x4.add
      (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $ab) (local.get $cd))
      (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
        (local.get $ab) (local.get $cd))))

  (func (export "product")
    (param $x i32) (param $w i32) (param $out i32)
    (param $rows i32) (param $columns i32) (param $depth i32)
    (local $row i32) (local $below i32) (local $column i32) (local $across i32) (local $step i32)
    (local $x0 i32) (local $x1 i32)
    (local $w0 i32) (local $w1 i32) (local $w2 i32) (local $w3 i32)
    (local $top v128) (local $bottom v128) (local $four v128)
    (local $s00 v128) (local $s01 v128) (local $s02 v128) (local $s03 v128)
    (local $s10 v128) (local $s11 v128) (local $s12 v128) (local $s13 v128)
    (local.set $across (i32.mul (local.get $depth) (i32.const 4))) ;; bytes of a row of x and of w

    (loop $tiles ;; over columns: four rows of w stay near while all of x goes by
      ;; The last tile moves left until it is whole: some columns are then worked out twice.
      (if (i32.gt_s (local.get $column) (i32.sub (local.get $columns) (i32.const 4)))
        (then (local.set $column (i32.sub (local.get $columns) (i32.const 4)))))
      (local.set $row (i32.const 0))

      (loop $pairs ;; over rows, two at a time; the last row may be its own partner
        (local.set $below (i32.add (local.get $row) (i32.const 1)))
        (if (i32.ge_s (local.get $below) (local.get $rows))
          (then (local.set $below (local.get $row))))
        (local.set $x0
          (i32.add (local.get $x) (i32.mul (local.get $row) (local.get $across))))
        (local.set $x1
          (i32.add (local.get $x) (i32.mul (local.get $below) (local.get $across))))
        (local.set $w0
          (i32.add (local.get $w) (i32.mul (local.get $column) (local.get $across))))
        (local.set $w1 (i32.add (local.get $w0) (local.get $across)))
        (local.set $w2 (i32.add (local.get $w1) (local.get $across)))
        (local.set $w3 (i32.add (local.get $w2) (local.get $across)))
        (local.set $s00 (v128.const f32x4 0 0 0 0))
        (local.set $s01 (v128.const f32x4 0 0 0 0))
        (local.set $s02 (v128.const f32x4 0 0 0 0))
        (local.set $s03 (v128.const f32x4 0 0 0 0))
        (local.set $s10 (v128.const f32x4 0 0 0 0))
        (local.set $s11 (v128.const f32x4 0 0 0 0))
        (local.set $s12 (v128.const f32x4 0 0 0 0))
        (local.set $s13 (v128.const f32x4 0 0 0 0))
        (local.set $step (i32.const 0))

        (loop $along ;; over depth, four at a time
          (local.set $top (v128.load (i32.add (local.get $x0) (local.get $step))))
          (local.set $bottom (v128.load (i32.add (local.get $x1) (local.get $step))))
          (local.set $four (v128.load (i32.add (local.get $w0) (local.get $step))))
          (local.set $s00
            (f32x4.add (local.get $s00) (f32x4.mul (local.get $top) (local.get $four))))
          (local.set $s10
            (f32x4.add (local.get $s10) (f32x4.mul (local.get $bottom) (local.get $four))))
          (local.set $four (v128.load (i32.add (local.get $w1) (local.get $step))))
          (local.set $s01
            (f32x4.add (local.get $s01) (f32x4.mul (local.get $top) (local.get $four))))
          (local.set $s11
            (f32x4.add (local.get $s11) (f32x4.mul (local.get $bottom) (local.get $four))))
          (local.set $four (v128.load (i32.add (local.get $w2) (local.get $step))))
          (local.set $s02
            (f32x4.add (local.get $s02) (f32x4.mul (local.get $top) (local.get $four))))
          (local.set $s12
            (f32x4.add (local.get $s12) (f32x4.mul (local.get $bottom) (local.get $four))))
          (local.set $four (v128.load (i32.add (local.get $w3) (local.get $step))))
          (local.set $s03
            (f32x4.add (local.get $s03) (f32x4.mul (local.get $top) (local.get $four))))
          (local.set $s13
            (f32x4.add (local.get $s13) (f32x4.mul (local.get $bottom) (local.get $four))))
          (local.set $step (i32.add (local.get $step) (i32.const 16)))
          (br_if $along (i32.lt_s (local.get $step) (local.get $across))))

        (v128.store
          (i32.add (local.get $out) (i32.mul (i32.const 4)
            (i32.add (i32.mul (local.get $row) (local.get $columns)) (local.get $column))))
          (call $sums (local.get $s00) (local.get $s01) (local.get $s02) (local.get $s03)))
        (v128.store
          (i32.add (local.get $out) (i32.mul (i32.const 4)
            (i32.add (i32.mul (local.get $below) (local.get $columns)) (local.get $column))))
          (call $sums (local.get $s10) (local.get $s11) (local.get $s12) (local.get $s13)))
        (local.set $row (i32.add (local.get $row) (i32.const 2)))
        (br_if $pairs (i32.lt_s (local.get $row) (local.get $rows))))

      (local.set $column (i32.add (local.get $column) (i32.const 4)))
      (br_if $tiles (i32.lt_s (local.get $column) (local.get $columns))))))
